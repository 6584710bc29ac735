"""All stages of a program for given arguments, as text and as an HTML page, and its cost.

`AXIOMJIT_SHOW=graph,views,loops,plan,source,times` prints a program while it is lowered.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.locks import lazy_import
from axiomjit.base.loop_outcomes import INSIDE, REGION
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record, cached_property
from axiomjit.graph.nodes import origin
from axiomjit.graph.regions import Loop, Region
from axiomjit.passes.ir.loop_ir import LoopProgram
from axiomjit.passes.ir.parse_loops import BoundProgram, print_loops
from axiomjit.passes.ir.plan_ir import Allocate, Call, Kernel, Launch, OfRegion, Plan, Release
from axiomjit.passes.ir.print_program import FORMS, AnyProgram, print_program
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.passes.pipeline import LOOP_PASSES, PASSES, Stages, Watcher, run_pipeline
from axiomjit.runtime.codegen.kernel_cache import KERNELS
from axiomjit.symbolic.dims import Dim, Symbol, evaluate

if TYPE_CHECKING:
    from axiomjit.runtime.codegen.compile_source import CompiledKernel

PASS_NAMES: Final = tuple(step.__name__ for step in PASSES)
"""The names of the passes, in the order in which they run."""
STAGE_NAMES: Final = (*(form.name for form in FORMS.values()), "source", "times")
"""The names that `config.show` accepts in addition to passes."""


def watcher() -> Watcher | None:
    """The watcher that prints to stderr the stages named in `config.show`; None if none is named.

    Raises:
        GraphValueError: a name is neither a stage nor a pass.
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


ONE_KERNEL: Final = "one kernel, which runs all trips"
REPEATED: Final = "repeated, as its body calls a library, draws, joins or computes much in a trip"
ROLE_NAMES: Final = {
    ArrayRole.RESULT: "result",
    ArrayRole.TEMPORARY: "temporary",
    ArrayRole.MATERIALIZED: "temporary",
    ArrayRole.PARTIAL: "partial results",
    ArrayRole.HELD: "held array",
}
"""The names of buffer roles in the legend."""


class CostInNumbers(Record):
    """The bytes, operations and memory of a call, if masks are true everywhere.

    `temporary_bytes` is memory other than arguments and results; `scratch_bytes` is memory of
    partial results of reductions, and of rows that wait to be written. `peak_bytes` is the largest
    number of bytes allocated at one time, with results but without memory of libraries. `flops` is
    the number of operations, weighted in additions. `kernels` is the number of kernels,
    `library_calls` the number of library calls.
    """

    bytes_read: int
    bytes_written: int
    flops: int
    temporary_bytes: int
    scratch_bytes: int
    peak_bytes: int
    kernels: int
    library_calls: int


def _peak_bytes(plan: Plan, lengths: Mapping[Symbol, int]) -> int:
    """The largest number of bytes that are allocated at the same time while a plan runs."""
    sizes = {
        buffer.name: math.prod((evaluate(n, lengths) for n in buffer.shape), start=1)
        * buffer.dtype.itemsize
        for buffer in plan.buffers
    }
    now = peak = 0
    for step in plan.steps:
        if isinstance(step, Allocate):
            now += sizes[step.buffer]
        elif isinstance(step, Call) and step.allocates_targets:
            now += sum(sizes[window.buffer] for window in step.targets)
        elif isinstance(step, Release):
            now -= sizes[step.buffer]
        peak = max(peak, now)
    return peak


def _names_of(plan: Plan, arguments: Sequence[str]) -> dict[str, str]:
    """The user's names of a plan's buffers; `arguments` has the names of the arguments."""
    return {
        one.name: ROLE_NAMES[one.role] if one.position is None else arguments[one.position]
        for one in plan.buffers
    }


class Lowered:
    """The stages of one program; the text of a stage is made at first use."""

    def __init__(
        self,
        stages: Stages,
        values: Mapping[Symbol, int],
        names: Sequence[str],
        guards: Sequence[object] = (),
        effects: Sequence[object] = (),
        source_loops: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Store the stages, the lengths of this call and the names of the parameters.

        `guards` are the checks of objects outside the function, and `effects` are the changes of
        such objects. `source_loops` has the outcome of each loop in the function's source, by the
        user's line.
        """
        self._source_loops = tuple(source_loops)
        self._stages, self._values = stages, dict(values)
        self._guards, self._effects = tuple(guards), tuple(effects)
        self._names = tuple(names)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the plan, in order of launch."""
        return tuple(launch.kernel for launch in self._stages.plan.launches)

    @cached_property
    def graph(self) -> str:
        """The text of the graph, one node per line."""
        return print_program(self._stages.graph)

    @cached_property
    def views(self) -> str:
        """The text of the view program: storages with strides, and values that are not stored."""
        return print_program(self._stages.views)

    @cached_property
    def loops(self) -> str:
        """The text of the loop program after all passes."""
        return print_program(self._stages.loops)

    @cached_property
    def plan(self) -> str:
        """The text of the plan: allocations, launches, library calls and results in order."""
        return print_program(self._stages.plan)

    @cached_property
    def source(self) -> str:
        """The generated Python source of all kernels."""
        return source_of(self._stages.plan)

    @property
    def outside(self) -> str:
        """The guards and effects on objects outside the function, one per line."""
        read = [f"if {guard}\n" for guard in self._guards]
        return "".join([*read, *(f"then {effect}\n" for effect in self._effects)])

    @cached_property
    def source_loops(self) -> str:
        """The outcome of each loop in the function's source, by the user's line."""
        called = {
            step.operation
            for step in self._pass("repeat_regions")[0].steps  # type: ignore[union-attr]
            if isinstance(step, Call) and isinstance(step.operation, Region)
        }
        regions: dict[str | None, list[bool]] = {}
        for op in self._stages.graph.ops:
            if isinstance(op.primitive, Loop):
                regions.setdefault(origin(op), []).append(op.primitive in called)
        lines = []
        for line, outcome in self._source_loops:
            how = outcome if outcome == INSIDE else f"unrolled: {outcome}"
            if outcome == REGION:
                is_called = regions.get(line)
                how = "nothing reads what it computes" if is_called is None else ONE_KERNEL
                if is_called and all(is_called):
                    how = REPEATED
            lines.append(f"{line}: {how}\n")
        return "".join(lines)

    def before(self, step: str) -> str:
        """The text of the program before the pass called `step`.

        Raises:
            GraphValueError: there is no such pass.
        """
        return print_program(self._pass(step)[0])

    def after(self, step: str) -> str:
        """The text of the program after the pass called `step`.

        Raises:
            GraphValueError: there is no such pass.
        """
        return print_program(self._pass(step)[1])

    def loops_before(self, step: str) -> str:
        """The full text of the loops before the pass called `step`, as `axiomjit opt` reads it.

        Raises:
            GraphValueError: there is no such pass over loops.
            UnsupportedError: the program calls an object that exists only in this process.
        """
        program = self._pass(step)[0]
        if not isinstance(program, LoopProgram):
            raise GraphValueError(
                f"the loops before the pass {step!r}",
                "a pass over another form",
                f"name one of {', '.join(LOOP_PASSES)}",
                user_location(),
            )
        lengths = self._stages.context.scope.values
        return print_loops(BoundProgram(program, tuple(lengths.items())))

    @property
    def times(self) -> dict[str, float]:
        """The milliseconds that each pass takes, measured by running all passes again."""
        return {name: took for name, (_, _, took) in self._run_again().items()}

    def _pass(self, step: str) -> tuple[AnyProgram, AnyProgram, float]:
        found = self._run_again().get(step)
        if found is None:
            names = [name for name in PASS_NAMES if name.startswith(step[:4])] or PASS_NAMES
            raise GraphValueError(
                f"the program around the pass {step!r}",
                "no pass of this name",
                f"name one of {', '.join(names)}",
                user_location(),
            )
        return found

    def _run_again(self) -> dict[str, tuple[AnyProgram, AnyProgram, float]]:
        """For each pass, the program before and after the pass and the pass's milliseconds."""
        trail: dict[str, tuple[AnyProgram, AnyProgram, float]] = {}

        def keep(name: str, before: AnyProgram, after: AnyProgram, took: int) -> None:
            trail[name] = before, after, took / 1e6

        run_pipeline(self._stages.graph, self._stages.context, keep)
        return trail

    @cached_property
    def _compiled(self) -> list[CompiledKernel]:
        """All kernels, compiled again, because kernels in use do not store LLVM IR or assembly."""
        return [KERNELS.compiled(kernel) for kernel in self.kernels]

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR of all kernels; the kernels are compiled again."""
        return "\n".join(kernel.llvm for kernel in self._compiled)

    @property
    def asm(self) -> str:
        """The assembly of all kernels; the kernels are compiled again."""
        return "\n".join(kernel.asm for kernel in self._compiled)

    @cached_property
    def cost(self) -> CostInNumbers:
        """The bytes, operations and allocations of a call with the lengths of this call."""
        cost = self._stages.cost
        products = len(self._stages.plan.calls)
        at = self._values
        return CostInNumbers(
            bytes_read=evaluate(cost.bytes_read, at),
            bytes_written=evaluate(cost.bytes_written, at),
            flops=evaluate(cost.flops, at),
            temporary_bytes=evaluate(cost.temporary_bytes, at),
            scratch_bytes=evaluate(cost.scratch_bytes, at),
            peak_bytes=_peak_bytes(self._stages.plan, at),
            kernels=cost.kernels,
            library_calls=products,
        )

    @cached_property
    def legend(self) -> str:
        """The user's name of each buffer, number and length of the kernels, one per line."""
        owners = _names_of(self._stages.plan, self._names)
        return "\n".join(self._legend_lines(self._stages.plan, owners)) + "\n"

    def _legend_lines(self, plan: Plan, owners: Mapping[str, str]) -> Iterator[str]:
        """The lines for a plan's launches; `owners` has the user's names of the plan's buffers."""
        for launch in plan.steps:
            if isinstance(launch, OfRegion):
                seen = [owners[window.buffer] for window in launch.operands]
                for body in launch.bodies:
                    yield from self._legend_lines(body, _names_of(body, seen))
            if not isinstance(launch, Launch):
                continue
            names = [p.name for p in launch.kernel.parameters]
            known: list[str] = [owners[b] for b in launch.buffers]
            for source in launch.numbers:
                if source.position is not None:
                    known.append(self._names[source.position])
                elif source.literal is not None:
                    known.append(repr(source.literal.item()))
                else:
                    known.append(f"length {source.length}")
            known += [self._length_text(length) for length in launch.lengths]
            yield from (f"{name}: {what}" for name, what in zip(names, known, strict=True))

    def _length_text(self, length: Dim) -> str:
        """The text of a length, with its value unless the length depends on a loop index."""
        known = length.symbols <= self._values.keys()
        return f"{length} = {evaluate(length, self._values)}" if known else str(length)

    def __repr__(self) -> str:
        return f"Lowered({amount(len(self.kernels), 'kernel')}, {self.cost})"


class Explanation:
    """The result of `f.explain(*args)`: `str(x)` gives text, `x.html()` a page."""

    def __init__(self, name: str, lowered: Lowered) -> None:
        """Store the lowered program of a function called `name`."""
        self._name, self._lowered = name, lowered

    def _sections(self) -> tuple[tuple[str, str], ...]:
        lowered = self._lowered
        cost = lowered.cost
        sums = (
            f"kernels {cost.kernels}, library calls {cost.library_calls}\n"
            f"reads {cost.bytes_read:,} bytes, writes {cost.bytes_written:,} bytes, "
            f"{cost.flops:,} operations\n"
            f"temporaries {cost.temporary_bytes:,} bytes, scratch {cost.scratch_bytes:,} bytes, "
            f"at most {cost.peak_bytes:,} bytes at once with results\n"
        )
        loops = lowered.source_loops
        return (
            ("cost", sums),
            *([("loops of the source", loops)] if loops else []),
            ("graph: what is computed", lowered.graph),
            ("views: what is stored and how it is read", lowered.views),
            ("loops: fused, ordered, blocked", lowered.loops),
            ("source: what is compiled", lowered.source),
            ("legend: what the names in the source are", lowered.legend),
            *([("outside: what is read and changed", lowered.outside)] if lowered.outside else []),
        )

    def __str__(self) -> str:
        parts = [f"{self._name}\n"]
        for title, text in self._sections():
            parts.append(f"-- {title} --\n{text}")
        return "\n".join(parts)

    __repr__ = __str__

    def html(self) -> str:
        """An HTML page with one section per stage; the page loads no other files."""
        lazy_import("html")  # the import takes long
        from html import escape

        sections = "".join(
            f"<h2>{escape(title)}</h2><pre>{escape(text)}</pre>" for title, text in self._sections()
        )
        style = (
            "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}"
            "pre{overflow-x:auto;padding:1rem;background:#f4f4f2;color:#111;border-radius:6px}"
            "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}"
            "pre{background:#222;color:#eee}}"
        )
        return (
            f"<!doctype html><html lang=en><meta charset=utf-8>"
            f"<meta name=viewport content='width=device-width,initial-scale=1'>"
            f"<title>{escape(self._name)}</title><style>{style}</style>"
            f"<h1>{escape(self._name)}</h1>{sections}</html>"
        )
