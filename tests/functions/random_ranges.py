"""Loops over ranges in random functions, and lines of tracebacks, for `random_functions.py`."""


def ranged(self, depth, indent, at):
    """A loop over numbers, whose body only assigns, and branches."""
    test = self.some(
        lambda: self.expression(1),
        lambda: f"not {self.expression(0)}",
        lambda: f"{self.expression(0)} and {self.expression(1)}",
        lambda: f"{self.expression(0)} or not {self.expression(0)}",
        lambda: f"{self.expression(0)} < {self.expression(0)} <= {self.expression(0)}",
    )
    return [
        f"{at}for {self.name()} in range({self.draw.choice(['3', '0', '1, 3', '2, 0, -1'])}):",
        *(f"{at}    {self.target()} = {self.expression(2)}" for _ in range(2)),
        f"{at}    if {test}:",
        f"{at}        {self.name()} += {self.expression(1)}",
        f"{at}    else:",
        f"{at}        {self.target()} = {self.expression(1)}",
        *([f"{at}else:", *self.block(depth, indent + 1)] if self.maybe(0.2) else []),
    ]


def lines_of(frames):
    """The functions and lines of a traceback; a loop's body is in the frame of its function."""
    found = []
    for name, line in frames:
        if found and found[-1][0] == name:
            found.pop()
        found.append((name, line))
    return found
