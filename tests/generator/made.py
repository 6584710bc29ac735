"""Steps that make arrays: of a number everywhere, of even steps, of products by a spec."""

from tests.generator.programs import Step

CODES = ("f8", "f4", "i8", "c16")
LETTERS = "abcdef"


def made(d, values):
    """An array like another one, or even steps between two numbers."""
    name = d.pick(("zeros_like", "ones_like", "full_like", "empty_like", "linspace"))
    if name == "linspace":
        return _steps(d, values)
    k, number = values.any(), d.pick((2, -1, 3))
    options = {"dtype": d.pick(CODES)} if d.chance(0.3) else {}
    if d.chance(0.2):
        options["shape"] = (d.below(4), 2)
    form = {
        "full_like": f"np.full_like({{0}}, {abs(number)}{{options}})",
        "empty_like": f"np.full_like(np.empty_like({{0}}{{options}}), {abs(number)})",
    }
    return Step(name, form.get(name, f"np.{name}({{0}}{{options}})"), (k,), tuple(options.items()))


def _steps(d, values):
    """np.linspace of a value and a number."""
    k = values.among(lambda a: not a.ndim and (a.dtype.kind in "iu" or a.dtype == "f8"))
    if k is None:
        return None
    options = (("endpoint", False),) if d.chance(0.3) else ()
    ends = "{0}, 7.5" if d.chance(0.5) else "-2, {0}"
    return Step("linspace", f"np.linspace({ends}, {d.below(6)}{{options}})", (k,), options)


def by_spec(d, values):
    """np.einsum of one or two values: diagonals, sums, products and transposes."""
    operands = [values.among(lambda a: 0 < a.ndim < 4) for _ in range(d.between(1, 2))]
    if None in operands:
        return None
    lengths, written = {}, []
    for k in operands:
        letters = ""
        for n in values.arrays[k].shape:
            known = [letter for letter, length in lengths.items() if length == n]
            if not known or d.chance(0.4):
                known = [LETTERS[len(lengths)]]
            letters += d.pick(known)
            lengths.setdefault(letters[-1], n)
        written.append(letters)
    kept = "".join(d.order([letter for letter in lengths if d.chance(0.6)]))
    spec = f"{','.join(written)}->{kept}"
    return Step("einsum", f"np.einsum({spec!r}, {{many}})", tuple(operands))
