"""Stable text of a view program."""

from __future__ import annotations

from axiomjit.base.dtypes import code
from axiomjit.graph.nodes import Input, LengthNode, Scalar
from axiomjit.passes.ir.view_ir import (
    Definition,
    Number,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import show, show_conditions, show_region


def _list(dims: tuple[Dim, ...]) -> str:
    return ", ".join(str(d) for d in dims)


def number_text(number: Number) -> str:
    """What a number is, e.g. `c0: f8 = scalar 2.0`."""
    match number.origin:
        case Input():
            source = f"input {number.origin.position}"
        case Scalar():
            source = f"scalar {number.origin.value.item()!r}"
        case LengthNode():
            source = f"length {number.origin.length}"
    return f"{number.name}: {code(number.dtype)} = {source}"


def _storage_text(storage: Storage) -> str:
    return (
        f"{storage.role} {storage.name}: {code(storage.dtype)}[{_list(storage.shape)}]"
        f" strides ({_list(storage.strides)})"
    )


def view_text(view: View) -> str:
    """A view, e.g. `a0 at 0 + (n1, 1)`, or `a0 at 1 + (2) in f8` of imaginary parts."""
    parts = "" if view.dtype == view.storage.dtype else f" in {code(view.dtype)}"
    version = f"'{view.version}" if view.version else ""
    return f"{view.storage.name}{version} at {view.offset} + ({_list(view.strides)}){parts}"


def _operand_text(operand: ReadOperand) -> str:
    match operand:
        case View():
            return view_text(operand)
        case Value():
            return operand.name + show(operand.index)
        case Number():
            return operand.name


def _definition_text(definition: Definition) -> str:
    target = definition.name if definition.storage is None else definition.storage.name
    if definition.target is not None:
        target = f"({view_text(definition.target)})"
    kind = "r-tensor" if definition.storage is None else "l-tensor"
    operands = [_operand_text(o) for o in definition.operands]
    for k, region in enumerate(definition.regions):
        operands[k] += f" where {show_region(region, definition.extents) or 'always'}"
    reads = "; ".join(operands)
    name = definition.primitive.name
    part = f"part {definition.primitive.source} of " if name == "part" else name
    fold = f"{definition.fold} " if definition.fold is not None else ""
    kept = _list(definition.extents[: definition.rank])
    text = f"{kind} {target}[{kept}] = {fold}{part}({reads})"
    if definition.combine is not None:
        text += f" by {definition.combine}"
    if definition.ordered:
        text += f" in order of {', '.join(f'i{k}' for k in sorted(definition.ordered))}"
    if definition.fold is not None:
        folded = _list(definition.extents[definition.rank :])
        text += f" over [{folded}]" if folded else " running"
    text += show_conditions(definition.conditions)
    if definition.library is not None:
        text += f" by {definition.library.operation}"
    return text


def print_views(program: ViewProgram) -> str:
    """The program as text: storages, numbers, definitions, results."""
    lines = ["views"]
    lines += [f"  {_storage_text(storage)}" for storage in program.storages]
    lines += [f"  number {number_text(number)}" for number in program.numbers]
    lines += [f"  {_definition_text(definition)}" for definition in program.definitions]
    lines += [f"  let {c.choice.symbol.name} = {view_text(c.view)}" for c in program.counts]
    lines += [f"  return {view_text(view)} [{_list(view.shape)}]" for view in program.results]
    return "\n".join(lines) + "\n"
