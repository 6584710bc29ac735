"""Random functions that need values between operations on arrays, as text.

All arrays have six elements, views of them three; values are integers, so that no sum is rounded.
"""

OPERATIONS = (
    "{new} = {a} + {b}",
    "{new} = {a} - {b} + {s}",
    "{new} = np.fmod({a} * {b}, 97.0)",
    "{new} = np.where({a} > {s}, {a}, {b})",
    "{new} = {a}.copy()",
    "{new} = np.concatenate([{v}, {w}])",
    "{new} = np.sort({a})",
    "{new} = np.zeros(6)",
    "{new} = np.asarray({a})",
    "{new} = {a}",
    "{new} = TABLE - {a}",
    "{new} = helper({a}, {b})",
    "{view} = {a}[::2]",
    "{view} = {a}[3:]",
    "{view} = {a}.reshape(2, 3)[1]",
    "{view} = np.abs({v}) + {w}",
)
WRITES = (
    "{a} += {b}",
    "{a} -= {s}",
    "{a}[:] = {b}",
    "{a}[1:4] = {v}",
    "{a}[{k}] = {s}",
    "{a}[{a} > {n}] = {s}",
    "{a}[[0, 2, 5]] = {v}",
    "{v} += {w}",
    "{v}[{i}] = {n}",
    "{a}.sort()",
    "np.maximum({a}, {b}, out={a})",
    "np.copyto({v}, {w})",
    "TABLE[1:4] = {v}",
)
LOOKS = (
    "{number} = {a}.sum().item()",
    "{number} = float({a}.max())",
    "{number} = int({v}.min())",
    "{number} = {a}[{k}]",
    "{number} = {a}.sum()",
    "{number} = len(str({a})) + {a}.tolist()[{k}]",
    "print({a}, {s})",
    "print(f'{{{v}}} {{{s}:.2f}} {{{b}!r}}')",
    "kept.append({a})",
    "kept.append(({v}, {s}, {{'{k}': {b}}}))",
    "kept = [*kept, {v}[{i}], {a} > {s}]",
)
BLOCKS = (
    "if {s} > {n}:",
    "for _ in range({i}):",
    "while len(kept) < {i}:\n    kept.append({s})",
    "for part in ({a}, {v}, {b}):\n    print(part.max())",
    "try:\n    {a} = {v} + {b}\nexcept ValueError as error:\n    print(error)",
    "if {s} > {n} * 9:\n    raise ValueError({s}, {a})",
)
MODULE = """
TABLE = np.arange(6.0)

def helper(p, q):
    p += 1
    print(q.max())
    return p * 2 - q

def f(x, y):
    kept = []
    {body}
    return {returned}
"""


class Writer:
    """Draws statements over the names that are bound."""

    def __init__(self, random):
        self.random = random
        self.arrays, self.views, self.numbers = ["x", "y"], ["x[:3]", "y[1:4]"], ["2", "len(kept)"]

    def filled(self, text):
        pick, bound = self.random.choice, len(self.arrays) + len(self.views) + len(self.numbers)
        names = {
            **dict.fromkeys("abvws"),
            **{"k": pick(range(6)), "i": pick(range(3)), "n": pick(range(-3, 12))},
            **{"new": f"a{bound}", "view": f"v{bound}", "number": f"s{bound}"},
        }
        names |= {name: pick(self.arrays) for name in "ab"}
        names |= {name: pick(self.views) for name in "vw"} | {"s": pick(self.numbers)}
        if text.startswith(("{v} +=", "{v}[")):
            names["v"] = pick([one for one in self.views if one[0] == "v"] or ["x"])
        for key, known in (("new", self.arrays), ("view", self.views), ("number", self.numbers)):
            if text.startswith(f"{{{key}}} ="):
                known.append(names[key])
        return text.format(**names)

    def statement(self, is_inside=False):
        kinds = (OPERATIONS, WRITES, LOOKS) if is_inside else (OPERATIONS, WRITES, LOOKS, BLOCKS)
        text = self.random.choice(self.random.choice(kinds))
        if not text.endswith(":"):
            return self.filled(text)
        before = [[*known] for known in (self.arrays, self.views, self.numbers)]
        head = self.filled(text)
        body = [self.statement(True) for _ in range(2)]
        self.arrays, self.views, self.numbers = before  # the block may not run
        return "\n".join([head, *(f"    {line}" for one in body for line in one.splitlines())])


def draw(random):
    """The text of a module with a function `f` of two arrays."""
    writer = Writer(random)
    lines = [line for _ in range(9) for line in writer.statement().splitlines()]
    names = [random.choice((writer.arrays, writer.views, writer.numbers)) for _ in range(3)]
    returned = ", ".join(["kept", *(random.choice(known) for known in names), "x"])
    return MODULE.format(body="\n    ".join(lines), returned=returned)
