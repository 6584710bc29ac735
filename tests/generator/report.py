"""A failing program made small and written down."""

from tests.generator.check import check
from tests.generator.shrink import shrink


def smallest(program, found, ways):
    """The smallest program found that fails as this one does, and how it fails."""

    def fails(candidate):
        again = check(candidate, ways)
        return again is not None and (again.way, again.kind) == (found.way, found.kind)

    small = shrink(program, fails)
    return small, check(small, ways) or found


def written(seed, index, program, found, ways):
    """A failure as text: where it was found, what is wrong, and a test to keep."""
    small, how = smallest(program, found, ways)
    return f"seed {seed}, program {index}\n{how}\n\n{small.as_test(f'seed_{seed}_{index}')}"
