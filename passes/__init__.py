"""The passes, which turn a graph into kernels; each pass is a file, named by a verb.

| form | says | its passes |
| --- | --- | --- |
| graph | which values are computed | `passes.graph` |
| view program | where each value has memory, with which strides | `passes.views` |
| loop program | in which loops, blocks and order | `passes.loops` |
| plan | in which steps: memory, kernels, library calls | `passes.plan` |

`pipeline` has all passes in order. `passes.ir` has the forms, their printer, verifier, rewrites and
estimates of cost. Packages list their passes in the pipeline's order.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`, `passes.graph`, `passes.views`,
`passes.loops`, `passes.plan`.
"""

if __name__ != "axiomjit.passes":
    raise ImportError(
        f"import {__name__}\n"
        "  seen: the folder of axiomjit.passes, whose modules and tables would exist twice\n"
        "  instead: import axiomjit.passes",
        name=__name__,
    )
