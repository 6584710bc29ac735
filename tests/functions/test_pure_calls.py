"""Functions and methods that are known as pure change neither their arguments nor the process."""

import numpy as np
import pytest

from axiomjit.functions.known_calls import Kind, kind_of_call, kind_of_method
from tests.functions.call_samples import (
    MODULES,
    OWNERS,
    functions_of,
    methods_of,
    plain,
    process_state,
    runs,
    samples,
)

FEW = {
    *("busday_count", "busday_offset", "busdaycalendar", "datetime_data", "dsplit"),
    *("from_dlpack", "fromiter", "fromstring", "isdtype", "polyfit", "typename", "vsplit"),
    *("ufunc", "flatiter", "apply_along_axis", "apply_over_axes", "frompyfunc", "mask_indices"),
    *("character", "signedinteger", "complexfloating", "integer", "number", "unsignedinteger"),
    *("inexact", "generic", "flexible", "floating", "piecewise"),
    *("matrix_power", "tensorinv", "tensorsolve", "Generator", "index", "rindex"),
    *("compare_chararrays", "add", "Field", "BaseExceptionGroup", "ExceptionGroup"),
    *("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError"),
}
"""Functions for which no sample serves, and abstract classes."""
NOT_TRIED = {"array_repr", "rot90", "resize"}
"""They change or repeat an array that is given for a number."""


def tries(function, every):
    """The number of calls that give a result; those that change an argument on purpose are left."""
    known, done = kind_of_call(function), 0
    for args in every:
        before = plain(args)
        if known.changed(args, {}):
            continue
        done += runs(function, args)
        assert plain(args) == before
    return done


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_pure_functions_change_nothing(module, capsys):
    before, untried = process_state(), set()
    for name, function in functions_of(module, Kind.PURE, Kind.ASKS, Kind.CALLBACK).items():
        if name in NOT_TRIED or not tries(function, samples()):
            untried.add(name)
        assert process_state() == before, name
    assert capsys.readouterr().out == ""
    assert untried <= FEW | NOT_TRIED


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.busday_count, (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-02-01"], "M8[D]"))),
        (np.busday_offset, (np.array(["2020-01-01"], "M8[D]"), 3)),
        *((np.datetime_data, ("M8[D]",)), (np.dsplit, (np.ones((2, 2, 4)), 2))),
        *((np.fromiter, ([1, 2], float)), (np.fromstring, ("1 2", float, -1, " "))),
        *(
            (np.isdtype, (np.dtype(float), "numeric")),
            (np.polyfit, (np.arange(5.0), np.ones(5), 1)),
        ),
        *((np.rot90, (np.eye(2),)), (np.typename, ("d",)), (np.vsplit, (np.eye(2), 2))),
        (np.apply_along_axis, (sum, 0, np.eye(2))),
        *((np.frompyfunc, (abs, 1, 1)), (np.mask_indices, (2, np.triu))),
        *((np.linalg.matrix_power, (np.eye(2), 2)), (np.linalg.tensorinv, (np.eye(4), 1))),
        *((np.array_repr, (np.eye(2), 70, 3)), (np.char.add, (["a"], ["b"]))),
        *((np.char.index, (["ab"], "b")), (np.char.rindex, (["ab"], "b"))),
        (np.piecewise, (np.arange(3.0), [np.array([True, False, True])], [1.0, 2.0])),
    ],
)
def test_pure_functions_with_rare_arguments_change_nothing(function, args):
    before = process_state()
    assert tries(function, [args])
    assert process_state() == before


@pytest.mark.parametrize("kind", OWNERS, ids=lambda kind: kind.__name__)
def test_pure_methods_change_nothing(kind):
    names = [name for name in methods_of(kind) if kind_of_method(kind, name).kind is Kind.PURE]
    names = [name for name in names if "pow" not in name]  # of the 97th degree
    before_all, owner, done = process_state(), OWNERS[kind](), 0
    for name in names:
        for args in [*samples(), (0,), (1,), ("a",), (owner,)]:
            if kind_of_method(kind, name).changed((owner, *args), {}):
                continue
            before = plain((owner, args))
            done += runs(getattr(owner, name), args)
            assert plain((owner, args)) == before, name
        assert process_state() == before_all, name
    assert done > len(names)
