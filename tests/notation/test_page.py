"""docs/notation.md has a row for each item of the reference, with tests that exist."""

import ast
import re

from tests.structure.sources import ROOT, read_sources

ITEMS = """
padding axis_spec compare_axis_spec sexp_of_axis_spec axis_spec_of_sexp t equal sexp_of_t t_of_sexp
deduce_within_shape delayed_var_ref get_variable_ref set_dim set_equal Pointwise_bin Compose Einsum
Transpose Pointwise_un Permute Batch_slice Uint4x32_to_prec Pointwise_tern Compose_accumulate Data
Fetch make to_string_hum unsafe_reinitialize logic update_id get_update_id logic_to_spec update_step
to_dims to_padding propagate_shapes derive_projections of_spec default_display_indices to_labels
axis_map parsed_axis_labels axis_labels_of_spec axis_map_to_dims_index
"""


def rows():
    """The four cells of each row of the last table."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    table = text.partition("| item | here |")[2]
    for line in table.splitlines()[2:]:
        if line.startswith("|"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_every_item_has_a_row():
    named = {name for row in rows() for name in re.findall(r"`([\w.]+)`", row[0])}
    assert [item for item in ITEMS.split() if item not in named] == []
    assert all(len(row) == 4 and all(row) for row in rows())


def test_the_tests_exist():
    found = {
        f"{path.rpartition('/')[2]}::{node.name}"
        for path, source in read_sources("tests").items()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    named = [name.strip() for row in rows() for name in row[3].split(",") if row[3] != "-"]
    assert len(named) > 40
    assert [name for name in named if name not in found] == []
