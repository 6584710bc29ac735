"""Passes that make plans: `make_plan` puts allocations, launches and library calls in order.

`repeat_regions` makes a plan for each body of a loop or branch that no kernel runs.

`render_source` writes the kernel of each nest as a readable Python function.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`.
"""
