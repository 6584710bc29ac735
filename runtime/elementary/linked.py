"""Functions that loops of kernels inline: written once per target, linked into kernels' modules.

A kernel's module declares them. Recipes are linked before LLVM's passes run; steps of recipes after
loops have become vector loops, and only the forms that these call. So nothing is written, read and
optimised in each kernel that most kernels do not use. Other modules hold what they call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from llvmlite import binding, ir

from axiomjit.base.target import Target
from axiomjit.runtime.llvm.target_code import target_context, target_of
from axiomjit.runtime.elementary.definitions import KEPT, LATE, add_attributes, keep


class _Linked(NamedTuple):
    """A module of LLVM, and the types and attributes of the functions that others may call."""

    module: Any
    prototypes: tuple[tuple[str, Any, tuple[str, ...]], ...]


_LINKED: Final[dict[tuple[Target, str], _Linked]] = {}
"""By target and name of a function, while the process runs: there are few recipes and steps."""


def declare_linked(module: Any) -> Any:
    """Let a module declare what is linked; return it."""
    module.axiomjit_links = []
    return module


def define_recipe(module: Any, name: str, write: Callable[[Any], None]) -> Any:
    """Return a function that loops inline at once, defined in a module or linked into it.

    Args:
        module: where it is called.
        name: of the function.
        write: defines it in a module.
    """
    if _links(module) is None:
        write(module)
        return module.globals[name]
    linked = _linked(target_of(module), [name], write, late=False)
    module.axiomjit_links.append(name)
    _declare(module, linked)
    return module.globals[name]


def define_step(module: Any, names: Sequence[str], write: Callable[[Any], None]) -> None:
    """Define or declare the forms of a step, the scalar one first, which loops inline later."""
    if _links(module) is None:
        write(module)
        return
    _declare(module, _linked(target_of(module), names, write, late=True))
    keep(module, [module.globals[name] for name in names[1:]])


def copy_of(target: Target, name: str) -> Any:
    """A copy of the module that defines a function, to be linked; None if nothing is."""
    linked = _LINKED.get((target, name))
    return None if linked is None else linked.module.clone()


def _links(module: Any) -> list[str] | None:
    return getattr(module, "axiomjit_links", None)


def _linked(
    target: Target, names: Sequence[str], write: Callable[[Any], None], *, late: bool
) -> _Linked:
    """The module of functions, made at first use."""
    found = _LINKED.get((target, names[0]))
    if found is not None:
        return found
    own = target_context(target).codegen()._create_empty_module(names[0])
    if not late:
        declare_linked(own)
    write(own)
    prototypes = []
    for name in names:
        function = own.globals[name]
        prototypes.append((name, function.ftype, tuple(function.attributes)))
        function.linkage = "linkonce_odr"
        if late:
            function.attributes.discard(LATE)
            add_attributes(function, "alwaysinline")
    if late:
        own.globals.pop(KEPT, None)
    made = _Linked(binding.parse_assembly(str(own)), tuple(prototypes))
    _LINKED.update({(target, name): made for name in names})
    return made


def _declare(module: Any, linked: _Linked) -> None:
    for name, kind, attributes in linked.prototypes:
        if name not in module.globals:
            add_attributes(ir.Function(module, kind, name), *attributes)
