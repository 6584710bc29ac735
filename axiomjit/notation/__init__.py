"""Label notation: specs such as `"ij;jk=>ik"` with batch, input and output axes (OCANNL shapes).

- `specs.py`: records of parsed specs
- `parser.py`: parses text into records; an error has a caret below the wrong character
- `terms.py`, `solving.py`: unknown sizes and rows, and the solver of demands on these
- `demands.py`, `sums.py`: the demands of operations; `templates.py`: the demands of a spec
- `closing.py`: chooses sizes and rows that demands leave open
- `rows.py`: solves a spec for operands of known shape
- `shapes.py`, `sizes.py`, `symbols.py`: the users' objects for shapes, sizes and indices
- `logic.py`: the rule of each operation for its shapes
- `projections.py`: index maps of a spec; `products.py`, `joins.py`: nodes of a spec
- `einsum.py`: `einsum` and `concat` for every kind of operand
- `leaves.py`, `tensors.py`, `constructors.py`: shaped tensors, given or computed; `emission.py`:
  nodes of shaped tensors

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
