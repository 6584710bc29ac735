"""Label notation: specs such as `"ij;jk=>ik"` with batch, input and output axes (OCANNL shapes).

- `specs.py`: the records that a spec is read into
- `parser.py`: from text to records; every refusal has a caret below the place
- `terms.py`, `solving.py`: unknown sizes and rows, and the solver of demands on them
- `demands.py`, `sums.py`: what operations demand; `templates.py`: what a spec demands
- `closing.py`: sizes and rows that demands leave open
- `rows.py`: a spec and operands of known shape
- `shapes.py`, `sizes.py`, `symbols.py`: what users hold of shapes, sizes and indices
- `logic.py`: what each operation demands of shapes
- `projections.py`: indices of axes; `products.py`, `joins.py`: nodes of specs
- `einsum.py`: specs for every kind of operand
- `leaves.py`, `tensors.py`, `constructors.py`: tensors that own a shape, given or
  computed of others; `emission.py`: their nodes

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`,
`accumulators`.
"""

from axiomjit.notation.leaves import arange_like
from axiomjit.notation.parser import is_multichar, parse_einsum, parse_labels
from axiomjit.notation.specs import (
    KINDS,
    MEMORY_ORDER,
    Affine,
    AxisSpec,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    Placeholder,
    RowSpec,
    SlotSpec,
)

__all__ = [
    "KINDS",
    "MEMORY_ORDER",
    "Affine",
    "AxisSpec",
    "Concat",
    "EinsumSpec",
    "Fixed",
    "Label",
    "Placeholder",
    "RowSpec",
    "SlotSpec",
    "arange_like",
    "is_multichar",
    "parse_einsum",
    "parse_labels",
]
