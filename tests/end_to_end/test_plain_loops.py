"""Programs of loops as users write them do what Python does; a table says which are regions."""

import copy

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError
from tests.end_to_end import plain_loops

PROGRAMS = plain_loops.arguments(12)
REGION = "region"
CLOSE = {"rtol": 1e-12, "atol": 1e-13}
"""For sums of arrays, products of matrices and exponentials."""

OUTCOMES = {
    "alternating_directions": REGION,
    "matching_bases": REGION,
    "escape_times_by_masks": REGION,
    "escape_times_of_complex": REGION,
    "means_until_still": "that differs between trips",
    "means_by_points": REGION,
    "newton_until_close": REGION,
    "bisection_until_close": REGION,
    "wave": REGION,
    "wave_of_a_plate": REGION,
    "fields": REGION,
    "fields_of_a_plane": REGION,
    "bodies": REGION,
    "chain_of_springs": "an assignment to an attribute",
    "smoothed_until_still": REGION,
    "chain_of_states": REGION,
    "chain_by_choice": "Probabilities do not sum to 1",
    "prefix_sums_in_place": REGION,
    "histogram_of_values": REGION,
    "windows": REGION,
    "windows_by_elements": REGION,
    "medians": REGION,
    "cholesky_by_rows": REGION,
    "lu_by_rows": REGION,
    "cholesky_with_checks": REGION,
    "relaxed_in_two_arrays": REGION,
    "relaxed_until_still": REGION,
    "backward_solve": "",
    "gram_schmidt_by_columns": REGION,
    "shortest_ways": REGION,
    "crc_by_table": "all its values are known",
}
"""By program, that its loops are regions, or why one is followed pass by pass: "" where the loop
is not tried as a region. Where this changes, the table does."""
IN_NUMPY = ("histogram_in_a_list", "subsequence_of_texts")
"""Programs whose lists and truths need values, so that NumPy runs them."""
SUMS = {"fields", "bodies", "windows", "cholesky_by_rows", "backward_solve"}
SUMS |= {"gram_schmidt_by_columns"}
"""Programs with sums, products and functions whose last bits may differ."""


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def assert_same(found, wanted, exact):
    """Values and types are equal, numbers bit by bit, if `exact`."""
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is type(other)
        if isinstance(one, np.random.Generator):
            assert one.bit_generator.state == other.bit_generator.state
        elif exact:
            np.testing.assert_array_equal(one, other, strict=True)
        else:
            np.testing.assert_allclose(one, other, **CLOSE, strict=True)


def how(compiled):
    """The word for regions if all loops of a function are some, else the reasons why not."""
    wanted = compiled._wanted
    reasons = wanted.repeated.values()
    if wanted.has_regions and not reasons:
        return REGION
    return "; ".join(reason.partition(": ")[2] for reason in reasons)


def outcome(function, given):
    """The results of a call, and its arguments afterwards."""
    mine = copy.deepcopy(given)
    return [*parts(function(*mine)), *mine]


@pytest.mark.parametrize("name", OUTCOMES)
def test_programs_do_what_python_does(name):
    function, given = PROGRAMS[name]
    compiled = axiomjit.jit(function, strict=True)
    for other in (given, given, plain_loops.arguments(15, 1)[name][1]):
        found, wanted = outcome(compiled, other), outcome(function, other)
        assert_same(found, wanted, name not in SUMS)
    found, reason = how(compiled), OUTCOMES[name]
    assert found == reason if reason in ("", REGION) else reason in found


@pytest.mark.parametrize("name", IN_NUMPY)
def test_programs_that_need_values_say_so(name):
    function, given = PROGRAMS[name]
    with pytest.raises(NeedsValuesError, match="values are not known"):
        axiomjit.jit(function, strict=True)(*given)


def test_the_table_has_all_programs():
    assert {*OUTCOMES, *IN_NUMPY} == set(PROGRAMS)
