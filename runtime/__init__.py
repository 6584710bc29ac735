"""The runtime, which compiles the source of kernels and runs plans.

May import nothing of axiomjit.
"""

if __name__ != "axiomjit.runtime":
    raise ImportError(
        f"import {__name__}\n"
        "  seen: the folder of axiomjit.runtime, whose modules and tables would exist twice\n"
        "  instead: import axiomjit.runtime",
        name=__name__,
    )
