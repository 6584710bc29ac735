"""Passes to plans: `make_plan` puts allocations, launches and library calls in order.

`repeat_regions` gives the loops and branches of the program that no kernel runs plans of their own.

`render_source` writes each nest as one readable Python function.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`.
"""
