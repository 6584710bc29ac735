"""Whether a function may change something outside itself, read off its code before it is followed.

An abstract interpretation of the syntax trees of the function and of those that it calls: `values`
says where a value may come from, `objects`, `instances` and `calls` what is done with it,
`expressions` and `analysis` go through the text, `without_text` through byte code.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `tracing`.
"""
