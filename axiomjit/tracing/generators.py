"""NumPy's generators of random numbers, and their methods; `traced_random` traces their calls."""

from __future__ import annotations

from typing import Final

_METHODS: Final = """
    beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel
    hypergeometric integers laplace logistic lognormal logseries multinomial
    multivariate_hypergeometric multivariate_normal negative_binomial noncentral_chisquare
    noncentral_f normal pareto permutation permuted poisson power rand randint randn random
    random_integers random_sample rayleigh seed set_state shuffle spawn standard_cauchy
    standard_exponential standard_gamma standard_normal standard_t tomaxint triangular uniform
    vonmises wald weibull zipf
"""
METHODS: Final = frozenset(_METHODS.split())
"""The methods that draw random numbers or change the state of a generator."""


def is_generator(value: object) -> bool:
    """True if an object is one of NumPy's generators; `numpy.random` may not be imported yet."""
    return is_generator_class(type(value))


def is_generator_class(kind: type) -> bool:
    """True for a class of NumPy's generators."""
    numpys = kind.__module__.startswith("numpy.random")
    return numpys and kind.__name__ in ("Generator", "RandomState")


class Represents:
    """An object of this package that is given to the user's code in place of an object of NumPy."""
