"""Label notation: specs such as `"ij;jk=>ik"` with batch, input and output axes (OCANNL shapes).

- `specs.py`: records of parsed specs, and the parser; errors have a caret below the wrong character
- `solving.py`: unknown sizes and rows, and the solver of demands on these
- `demands.py`: the demands of operations; `templates.py`: the demands of a spec, and their solution
  for operands of known shape
- `closing.py`: chooses sizes and rows that demands leave open
- `shapes.py`: the users' object for shapes; that for sizes is in `templates.py`
- `logic.py`: the rule of each operation for its shapes
- `projections.py`: index maps of a spec, and nodes of shaped tensors
- `products.py`: nodes of a spec
- `einsum.py`: `einsum` and `concat` for every kind of operand
- `leaves.py`, `tensors.py`: shaped tensors and symbolic indices, given or computed

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`,
`accumulators`.
"""

from axiomjit.notation.leaves import arange_like
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
    is_multichar,
    parse_einsum,
    parse_labels,
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
