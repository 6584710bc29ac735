"""Functions that are made from a user's function, such as its gradient, and how they are traced.

`Calls.call` asks a `Transform` to run, with a callable that traces the user's function. Calls of
functions in `FORMS` are answered by the forms there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.native_callable import NativeCallable


class Transform:
    """A function made from another one, `function`; `run` traces it."""

    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take the name and the signature of a function."""
        functools.update_wrapper(self, function, updated=())
        self.function = function

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def run(self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result for traced arguments; `call` traces `function`."""
        raise NotImplementedError

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call for which there is no program."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arrays; for traced arrays, too, if no hook sees the call."""
        return self.in_numpy(args, kwargs)


def innermost(function: Any) -> Any:
    """The user's function inside transforms and compiled functions."""
    while isinstance(function, Transform | NativeCallable):
        name = "function" if isinstance(function, Transform) else "_function"
        inner = getattr(function, name, None)
        if inner is None:
            return function
        function = inner
    return function


DERIVATIVES: Final = "_axiomjit_derivatives"
"""The attribute of a function that has its derivatives, so that they are freed with it."""
Form = Callable[..., Any]
"""A function `form(call, *args, **kwargs)` that traces a call; `call` traces calls of functions."""
FORMS: Final[dict[int, Form]] = {}
"""The forms of public functions that take functions, by their identity."""


def has_form(form: Form) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a public function so that `form` traces its calls; the function is never freed."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        FORMS[id(function)] = form
        return function

    return decorate
