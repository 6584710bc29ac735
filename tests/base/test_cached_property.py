"""Properties that are computed once, without a lock."""

from axiomjit.base.records import cached_property


class Example:
    """Counts how often a property is computed."""

    def __init__(self):
        self.times = 0

    @cached_property
    def value(self):
        """How often it was computed."""
        self.times += 1
        return self.times


def test_it_is_computed_once_for_each_instance():
    one, other = Example(), Example()
    assert (one.value, one.value, other.value, one.times) == (1, 1, 1, 1)
    assert vars(one)["value"] == 1
    assert isinstance(Example.value, cached_property)
    assert Example.value.__doc__ == "How often it was computed."
