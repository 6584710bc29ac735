"""Print a program while it is lowered: `AXIOMJIT_SHOW=graph,views,loops,plan,source,times`."""

from __future__ import annotations

import sys
from time import perf_counter_ns
from typing import Final

from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.print_program import FORMS, AnyProgram, print_program
from axiomjit.passes.pipeline import PASSES, Watcher

PASS_NAMES: Final = tuple(step.__name__ for step in PASSES)
"""The names of the passes, in the order in which they run."""
STAGE_NAMES: Final = (*(form.name for form in FORMS.values()), "source", "times")
"""The names that `config.show` accepts in addition to passes."""


def watcher() -> Watcher | None:
    """The watcher that prints to stderr the stages named in `config.show`; None if none is named.

    Raises:
        GraphValueError: a name is neither a form nor a pass.
    """
    asked = frozenset(config.show)
    unknown = sorted(asked.difference(STAGE_NAMES, PASS_NAMES))
    if unknown:
        raise GraphValueError(
            f"show {', '.join(unknown)} (config.show, AXIOMJIT_SHOW)",
            "neither a form nor a pass",
            f"name any of {', '.join(STAGE_NAMES)}, or a pass: {', '.join(PASS_NAMES)}",
        )
    return _StagePrinter(asked) if asked else None


def source_of(plan: Plan) -> str:
    """The generated Python source of all kernels of a plan, in order of launch."""
    return "\n".join(launch.kernel.source for launch in plan.launches)


class _StagePrinter:
    """A watcher of the pipeline that prints each requested stage as soon as it exists."""

    def __init__(self, asked: frozenset[str]) -> None:
        self.asked = asked
        self.times: list[tuple[str, int]] = []
        self.printing = 0
        self.started = perf_counter_ns()

    def __call__(self, name: str, before: AnyProgram, after: AnyProgram, took: int) -> None:
        started = perf_counter_ns()
        whole = started - self.started - self.printing
        self.times.append((name, took))
        if name == PASS_NAMES[0]:
            self._page("graph", print_program(before))
        if type(after) is not type(before) and FORMS[type(before)].name != "graph":
            self._page(FORMS[type(before)].name, print_program(before))
        if name in self.asked:
            self._print(f"before {name}", print_program(before))
            self._print(f"after {name}", print_program(after))
        if isinstance(after, Plan):
            self._page("plan", print_program(after))
            self._page("source", source_of(after))
            self._page("times", self._table(whole))
        self.printing += perf_counter_ns() - started

    def _table(self, whole: int) -> str:
        """The milliseconds of each pass, and of all passes with the work between them."""
        rows = [*self.times, ("all passes, verifiers included", whole)]
        return "\n".join(f"{took / 1e6:9.3f} ms  {name}" for name, took in rows)

    def _page(self, name: str, text: str) -> None:
        if name in self.asked:
            self._print(name, text)

    def _print(self, title: str, text: str) -> None:
        print(f"-- {title} --\n{text.rstrip()}\n", file=sys.stderr)
