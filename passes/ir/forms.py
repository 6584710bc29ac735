"""The forms a program takes, each with its printer and its verifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph
from axiomjit.graph.print_graph import print_graph
from axiomjit.graph.verify_graph import verify_graph
from axiomjit.passes.ir.loop_ir import LoopProgram
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.print_loops import print_loops
from axiomjit.passes.ir.print_plan import print_plan
from axiomjit.passes.ir.print_views import print_views
from axiomjit.passes.ir.verify_loops import verify_loops
from axiomjit.passes.ir.verify_plan import verify_plan
from axiomjit.passes.ir.verify_views import verify_views
from axiomjit.passes.ir.view_ir import ViewProgram

AnyProgram = Graph | ViewProgram | LoopProgram | Plan


class Form(Record):
    """An intermediate form: its name, its text, and what checks that it is legal."""

    name: str
    text: Callable[[Any], str]
    verify: Callable[[Any], None]


FORMS: Final[dict[type, Form]] = {
    Graph: Form("graph", print_graph, verify_graph),
    ViewProgram: Form("views", print_views, verify_views),
    LoopProgram: Form("loops", print_loops, verify_loops),
    Plan: Form("plan", print_plan, verify_plan),
}


def text_of(program: AnyProgram) -> str:
    """The text of a program in any form."""
    return FORMS[type(program)].text(program)
