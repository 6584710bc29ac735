"""The list of cases. It is frozen: a change of it states its effect on the mean ratio.

tests/golden/bench holds the list as text; `python -m axiomjit.bench list` prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite import cases_elementwise, cases_folds, cases_linear
from axiomjit.bench.suite.workload import Workload, own_workload

CASES: Final[tuple[Workload, ...]] = (
    *cases_elementwise.MAPS,
    *cases_elementwise.MATH,
    *cases_folds.REDUCTIONS,
    *cases_folds.ROWS,
    *cases_folds.SCANS,
    *cases_folds.BROADCAST,
    *cases_linear.CONTRACTIONS,
    *cases_linear.STENCILS,
    *cases_elementwise.LAYOUTS,
    *cases_elementwise.DTYPES,
    *cases_elementwise.SMALL,
)


def find(names: Sequence[str]) -> tuple[Workload, ...]:
    """Return the named cases: by name, by group, or a user's own as FILE.py:FUNCTION.

    Without names return all cases, in order.

    Raises:
        BenchError: no case or group of that name; or the user's function cannot be measured.
        GraphValueError: no such file or function.
    """
    found: dict[str, Workload] = {}
    for name in names:
        if ".py:" in name:
            found[name] = own_workload(name)
            continue
        chosen = [case for case in CASES if name in (case.name, case.group)]
        if not chosen:
            groups = ", ".join(dict.fromkeys(case.group for case in CASES))
            remedy = f"`list` prints them; groups are {groups}; your own is FILE.py:FUNCTION"
            raise BenchError(f"the case {name}", "no case or group of that name", remedy)
        found |= {case.name: case for case in chosen}
    return tuple(found.values()) if names else CASES
