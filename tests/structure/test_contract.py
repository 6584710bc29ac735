"""docs/axes.md lists each row of the contract of the axis language with tests that exist."""

import ast
import re

import pytest

from tests.structure.sources import ROOT, parsed, read_sources

PAGE = ROOT / "docs" / "axes.md"
# The features of the reference of the axis language, in its order.
ROWS = """
make_axis; identity; deferred length; changing a known length; neon axes; roles; axis class;
offset axes; transpose
make_axes; list side; a + b; a - b, a \\| b, a & b; ==, !=; is_sub_set and its like; extras
1 equal sets; 2 superset; 3 otherwise; scalars; algebra; equal; dtype; length 1
common axes; offsets; both; identity; L2; 4-d
sum; no arguments; out_axes; cast_axes; broadcast; axes_with_order
r-tensor, l-tensor; simple and complex views; dense layout; flattened iteration;
BasicTensorDescription; SimpleTensorViewDescription; BroadcastTensorDescription;
FlattenTensorDescription; PermuteTensorDescription; SliceTensorDescription; explicit result axes;
PadTensorDescription; ComplexTensorViewDescription; TensorDescription; life cycle of descriptions;
L2 example
make_axis, make_axes, make_axis_role; map_roles, cast_role; constant; placeholder;
variable, persistent_tensor, temporary, value_of, as_op; unary functions; binary functions;
comparison; reductions; dot; broadcast, axes_with_order, cast_axes; tensor_slice, x[...]; pad;
flatten, .T; flatten_at, unflatten; expand_dims, slice_along_axis;
stack, concat_along_axis, one_hot; uniform, normal; assign, x[...] = y;
sequential, doall, fill, set_item; softmax, cross_entropy_multi, cross_entropy_binary;
cumsum, cumprod, sort, argsort, take, clip, where; convolution, pooling; PrintOp; transformers
"""


def rows_of(text: str) -> list[tuple[str, list[str]]]:
    """The features of the tables of a page, each with what stands in its column of tests."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[2] not in ("tests", "---"):
            found.append((cells[0], [name.strip() for name in cells[2].split(",")]))
    return found


def functions_of(sources: dict[str, str]) -> set[str]:
    """Every test as `file.py::function`."""
    return {
        f"{path.rpartition('/')[2]}::{node.name}"
        for path, source in sources.items()
        for node in parsed(source).body
        if isinstance(node, ast.FunctionDef)
    }


def missing(rows: list[tuple[str, list[str]]], tests: set[str]) -> list[str]:
    """What is named in a column of tests and is no test."""
    return [f"{feature}: {name}" for feature, names in rows for name in names if name not in tests]


def test_no_row_is_missing():
    wanted = [row.strip() for row in re.split("[;\n]", ROWS) if row.strip()]
    features = [feature for feature, _ in rows_of(PAGE.read_text(encoding="utf-8"))]
    assert features == wanted


def test_every_test_that_is_named_exists():
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert missing(rows, functions_of(read_sources("tests"))) == []


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("t.py::test_a", []),
        ("t.py::test_a, t.py::test_b", ["x: t.py::test_b"]),
        ("open", ["x: open"]),
        ("", ["x: "]),
    ],
)
def test_planted_rows_are_judged(cell, found):
    rows = rows_of(f"| feature | here | tests |\n|---|---|---|\n| x | y \\| z | {cell} |\n")
    assert missing(rows, functions_of({"tests/t.py": "def test_a(): ..."})) == found
