"""The forms a program takes, each with its printer and its verifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from axiomjit.graph import Graph
from axiomjit.passes.loop_ir import LoopProgram
from axiomjit.passes.plan_ir import Plan
from axiomjit.passes.print_loops import print_loops
from axiomjit.passes.print_plan import print_plan
from axiomjit.passes.print_views import print_views
from axiomjit.passes.verify_loops import verify_loops
from axiomjit.passes.verify_plan import verify_plan
from axiomjit.passes.verify_views import verify_views
from axiomjit.passes.view_ir import ViewProgram
from axiomjit.print_graph import print_graph
from axiomjit.records import Record
from axiomjit.verify_graph import verify_graph

Program = Graph | ViewProgram | LoopProgram | Plan


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


def text_of(program: Program) -> str:
    """The text of a program in any form."""
    return FORMS[type(program)].text(program)
