"""Passes to plans: `make_plan` puts allocations, launches and library calls in order.

`render_source` writes each nest as one readable Python function.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`.
"""
