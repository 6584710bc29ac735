"""The programs: their arguments, their sizes, and which of them NumPy still runs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.programs import filters, finance, learning, simulations, solvers, statistics, stencils

Arguments = Callable[[int, int], tuple[Any, ...]]


class Program(NamedTuple):
    """A program, and what makes its arguments from a seed and a size.

    Args:
        name: By which it is chosen and printed.
        function: What is compiled.
        arguments: Makes the arguments of a call.
        small: The size in tests.
        large: The size where time is measured.
        kept: The number of first arguments that stay the same in all calls (they have state).
        refused: Makes arguments that the program refuses with an error.
        elements: Whether it loops over single elements.
        reason: Why it takes about NumPy's time or more, with the parts that were measured.
    """

    name: str
    function: Callable[..., Any]
    arguments: Arguments
    small: int
    large: int
    kept: int = 0
    refused: Arguments | None = None
    elements: bool = False
    reason: str = ""

    @property
    def kind(self) -> str:
        """The module of the function: solvers, stencils and so on."""
        return self.function.__module__.rpartition(".")[2]


def pair(seed: int, size: int) -> tuple[Any, ...]:
    """A matrix and a vector."""
    return solvers.system(seed, size)[:2]


def matrix(seed: int, size: int) -> tuple[Any, ...]:
    """A matrix with a strong diagonal."""
    return solvers.system(seed, size)[:1]


def vector(seed: int, size: int) -> tuple[Any, ...]:
    """Numbers in [0, 1)."""
    return filters.series(seed, size)[:1]


PROGRAMS = (
    Program("jacobi", solvers.jacobi, solvers.system, 12, 500),
    Program("red_black", solvers.red_black, solvers.poisson, 12, 500),
    Program(
        *("conjugate_gradient", solvers.conjugate_gradient, solvers.positive_system, 12, 500),
        refused=solvers.not_square,
    ),
    Program("power_iteration", solvers.power_iteration, pair, 12, 500),
    Program("kepler", solvers.kepler, solvers.orbits, 50, 100_000),
    Program("newton_schulz", solvers.newton_schulz, matrix, 12, 200),
    Program("bisect_all", solvers.bisect_all, solvers.brackets, 50, 100_000),
    Program("thomas", solvers.thomas, solvers.bands, 50, 50_000),
    Program("heat", stencils.heat, stencils.plate, 12, 500),
    Program("wave", stencils.wave, stencils.string, 50, 100_000),
    Program("life", stencils.life, stencils.cells, 12, 500),
    Program("shallow_water", stencils.ShallowWater.step, stencils.basin, 12, 500, kept=1),
    Program("ocean_mixing", stencils.ocean_mixing, stencils.water, 12, 200),
    Program("advect", stencils.advect, stencils.ring, 50, 100_000, refused=stencils.too_fast),
    Program("gray_scott", stencils.gray_scott, stencils.chemicals, 12, 500),
    Program("fir", filters.fir, filters.samples, 50, 100_000),
    Program(
        *("despeckle", filters.despeckle, filters.picture, 12, 200),
        reason="`median` is NumPy's, 78 % of the time",
    ),
    Program("sobel", filters.sobel, filters.grey, 12, 500, refused=filters.coloured),
    Program("conv2d", filters.conv2d, filters.image_and_kernel, 12, 500),
    Program("gaussian_blur", filters.gaussian_blur, filters.picture, 12, 500),
    Program("hist_equalize", filters.hist_equalize, filters.grey, 12, 500),
    Program(
        *("otsu", filters.otsu, filters.picture, 12, 500),
        reason="`histogram` is NumPy's, 88 % of the time",
    ),
    Program("gamma_correct", filters.gamma_correct, filters.photo, 12, 500),
    Program("smooth", filters.smooth, filters.series, 50, 500, elements=True),
    Program("standardise", statistics.standardise, statistics.table, 50, 50_000),
    Program(
        *("covariance", statistics.covariance, statistics.observations, 50, 50_000),
        refused=statistics.one_column,
    ),
    Program(
        *("linear_regression", statistics.linear_regression, statistics.regression_data),
        *(50, 50_000),
        refused=statistics.unequal_lengths,
    ),
    Program("kmeans_step", statistics.kmeans_step, statistics.clusters, 50, 50_000),
    Program("em_step", statistics.em_step, statistics.mixture, 50, 50_000),
    Program(
        *("bootstrap", statistics.bootstrap, statistics.data_and_generator, 50, 5_000),
        reason="NumPy draws the positions, 56 % of the time",
    ),
    Program("moving_average", statistics.moving_average, statistics.windowed, 50, 100_000),
    Program(
        *("box_plot", statistics.box_plot, statistics.sample, 50, 100_000),
        refused=statistics.with_gaps,
    ),
    Program(
        *("group_means", statistics.group_means, statistics.grouped, 50, 100_000),
        reason="both calls of `unique` are NumPy's, 97 % of the time",
    ),
    Program("autocorrelation", statistics.autocorrelation, vector, 50, 100_000),
    Program(
        *("ranks", statistics.ranks, vector, 50, 100_000),
        reason="a stable `argsort` is NumPy's, 89 % of the time",
    ),
    Program("rk4", simulations.rk4, simulations.ensemble, 50, 50_000),
    Program("nbody_step", simulations.nbody_step, simulations.bodies, 12, 500),
    Program("verlet", simulations.Gas.advance, simulations.gas, 50, 50_000, kept=1),
    Program("random_walk", simulations.random_walk, simulations.walkers, 50, 20_000),
    Program("ising_sweep", simulations.ising_sweep, simulations.lattice, 12, 500),
    Program(
        *("sir", simulations.sir, simulations.rates, 50, 50_000),
        refused=simulations.negative_rates,
    ),
    Program("mandelbrot", simulations.mandelbrot, simulations.plane, 12, 200),
    Program("black_scholes", finance.black_scholes, finance.options, 50, 100_000),
    Program("asian_option", finance.asian_option, finance.market, 50, 20_000),
    Program("max_drawdown", finance.max_drawdown, finance.prices, 50, 100_000),
    Program("until_peak", finance.until_peak, finance.prices, 50, 100_000),
    Program(
        *("portfolio_risk", finance.portfolio_risk, finance.portfolio, 50, 50_000),
        refused=finance.too_heavy,
    ),
    Program("ma_cross", finance.ma_cross, finance.prices, 50, 100_000),
    Program("binomial_put", finance.binomial_put, finance.tree, 12, 200),
    Program("present_value", finance.present_value, finance.payments, 50, 100_000),
    Program("softmax_regression", learning.softmax_regression, learning.classes, 50, 20_000),
    Program("layer_norm", learning.layer_norm, learning.activations, 50, 20_000),
    Program("causal_attention", learning.causal_attention, learning.heads, 12, 200),
    Program("dict_model", learning.dict_model, learning.parameters, 12, 2_000, kept=1),
    Program("mlp", learning.Mlp.train_step, learning.network, 50, 20_000, kept=1),
    Program(
        *("batch_norm", learning.BatchNorm.__call__, learning.batch, 50, 50_000, 1),
        refused=learning.wrong_batch,
    ),
    Program("relu_into", learning.relu_into, learning.dense, 50, 20_000),
    Program("accuracy", learning.accuracy, learning.scored, 50, 50_000),
)
