"""The page of NumPy's functions is the generated one, and agrees with the table of rules."""

import numpy as np
import pytest

from axiomjit.base.errors import UnsupportedError
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS
from tools import numpy_page
from tools.numpy_page import FUSED, LIBRARY, MODULES, NUMPY, PAGE, REFUSED, VIEW


@pytest.fixture(scope="module")
def written():
    """The text of the page, which is about one version of NumPy."""
    text = PAGE.read_text("utf-8")
    if f"NumPy {'.'.join(np.__version__.split('.')[:2])}, " not in text:
        pytest.skip(f"the page is not about NumPy {np.__version__}")
    return text


@pytest.fixture(scope="module")
def classified():
    return numpy_page.classified()


def test_the_page_is_the_generated_one(written, classified):
    assert written == numpy_page.page(classified), "python -m tools.numpy_page writes it"


def test_functions_with_a_rule_are_compiled(classified):
    left = []
    for kind in (NUMPY, REFUSED):
        for groups in classified[kind].values():
            for group, module in MODULES.items():
                functions = {name: getattr(module, name) for name in groups.get(group, ())}
                left += [n for n, f in functions.items() if f in FUNCTIONS or f in UFUNCS]
            left += [name for name in groups.get("numpy.ndarray", ()) if name in METHODS]
    assert left == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("np.exp(x)", FUSED),
        ("np.take(v, i)", FUSED),  # its positions are checked by a step of their own
        ("np.nanmean(x)", FUSED),  # a step only warns
        ("x.T", VIEW),
        ("np.zeros((2, 2)).shape", VIEW),
        ("np.exp(np.sort(x))", LIBRARY),
        ("np.linalg.inv(np.nextafter(x, 0.0))", NUMPY),
        ("np.unwrap(v)", NUMPY),
        ("x.tolist()", REFUSED),
    ],
)
def test_the_part_that_is_compiled_least_decides(text, kind):
    assert numpy_page.class_of(numpy_page.sample([text]))[0] == kind


def test_a_function_without_a_sample_is_named(monkeypatch):
    monkeypatch.setitem(numpy_page.SAMPLES, "numpy.linalg", {})
    with pytest.raises(numpy_page.NoSampleError, match=r"numpy\.linalg\.cross: add a line"):
        numpy_page.classified()


def test_a_reason_that_the_page_lacks_is_named():
    with pytest.raises(KeyError, match="no reason of the page says: the moon"):
        numpy_page.reason_of(UnsupportedError("f", "the moon", "wait"))


def test_samples_that_must_not_run_have_a_line_of_their_own():
    assert {"save", "seterr", "setbufsize", "set_printoptions"} <= {*numpy_page.SAMPLES["numpy"]}
