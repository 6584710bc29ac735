"""How many random programs the tests run: few by default, `AXIOMJIT_BUDGET` times as many."""

import os

FACTOR = int(os.environ.get("AXIOMJIT_BUDGET", "1"))


def budget(programs):
    """So many programs, times the factor of the environment."""
    return programs * FACTOR
