"""A small result as a run would write it, with every status, and the file that holds it."""

from pathlib import Path

from axiomjit.bench.suite import results
from axiomjit.bench.suite.records import (
    MISSING,
    NUMPY,
    OK,
    OURS,
    TIMEOUT,
    UNSUPPORTED,
    WRONG,
    Case,
    Cost,
    Environment,
    Limits,
    Peer,
    Result,
    Run,
    Timing,
    Triad,
    to_text,
)

KEPT = Path(results.__file__).resolve().parents[1] / "results"
FILE = Path(__file__).with_name("sample.json")
THREADS = (1, 2)
BYTES_PER_S = {1: 1.2e10, 2: 1.9e10}
FLOPS_PER_S = {1: 6.4e10, 2: 1.25e11}

# name, group, text, series, size, dtype, (bytes read, written, flops, temporary, kernels, library)
CASES = [
    ("axpy", "map", "2 * x + y", "", 1_000_000, "f8", (16_000_000, 8_000_000, 2_000_000, 0, 1, 0)),
    ("exp", "math", "np.exp(x)", "", 1_000_000, "f8", None),
    ("sum", "reductions", "x.sum()", "", 1_000_000, "f8", (8_000_000, 8, 1_000_000, 0, 1, 0)),
    ("max", "reductions", "x.max()", "", 1_000_000, "f8", (8_000_000, 8, 1_000_000, 0, 1, 0)),
    ("softmax", "rows", "softmax of each row", "", 1_048_576, "f8", None),
    ("cumsum", "scans", "np.cumsum(x)", "", 1_000_000, "f8", None),
    ("matmul", "contractions", "a @ b", "", 262_144, "f4", (2_097_152, 1_048_576, 2**28, 0, 0, 1)),
    ("jacobi", "stencils", "4 neighbours", "", 10**6, "f8", (10**7, 8 * 10**6, 10**7, 0, 1, 0)),
    ("add_u1", "dtypes", "x + y", "", 4 * 10**6, "u1", (10**7, 4 * 10**6, 4 * 10**6, 0, 1, 0)),
    ("affine_1", "small", "2 * x + 1", "affine", 1, "f8", (8, 8, 2, 0, 1, 0)),
    ("affine_10", "small", "2 * x + 1", "affine", 10, "f8", (80, 80, 20, 0, 1, 0)),
    ("affine_100", "small", "2 * x + 1", "affine", 100, "f8", (800, 800, 200, 0, 1, 0)),
    ("affine_1000", "small", "2 * x + 1", "affine", 1000, "f8", (8000, 8000, 2000, 0, 1, 0)),
]  # fmt: skip
NUMPY_S = dict(zip(
    [case[0] for case in CASES],
    [2.1e-3, 4.4e-3, 3.6e-4, 2.9e-4, 1.5e-2, 2.2e-3, 3.1e-3, 4.2e-3, 9e-4]
    + [1.1e-6, 1.2e-6, 1.3e-6, 2.4e-6],
    strict=True,
))  # fmt: skip
# time by NumPy's on one thread and on two, per case; None where the peer does not run it
RATIOS = {
    OURS: {
        "axpy": (0.58, 0.41), "sum": (0.86, 0.52), "max": (1.41, 1.1), "matmul": (1.01, 1.02),
        "jacobi": (0.27, 0.18), "add_u1": (0.62, 0.48), "affine_1": (8.9, 8.8),
        "affine_10": (8.2, 8.1), "affine_100": (7.4, 7.3), "affine_1000": (4.2, 4.3),
    },
    "numexpr": {
        "axpy": (0.71, 0.45), "exp": (0.93, 0.5), "sum": (2.9, 2.8), "add_u1": (2.2, 1.3),
        "affine_1": (3.4, 3.5), "affine_10": (3.2, 3.1), "affine_100": (3.2, 3.3),
        "affine_1000": (2.0, 2.1),
    },
    "numba": {
        "axpy": (0.6, 0.6), "exp": (3.9, 3.9), "sum": (2.8, 2.7), "max": (5.1, 5.0),
        "softmax": (1.2, 1.2), "cumsum": (0.7, 0.7), "jacobi": (0.4, 0.4), "add_u1": (1.0, 1.0),
        "affine_1": (0.3, 0.3), "affine_10": (0.3, 0.3), "affine_100": (0.3, 0.3),
        "affine_1000": (0.4, 0.4),
    },
    "jax": {
        "axpy": (0.7, 0.5), "exp": (1.1, 0.6), "sum": (1.9, 1.2), "max": (2.0, 1.3),
        "softmax": (0.8, 0.5), "cumsum": (4.0, 2.1), "matmul": (1.2, 1.1), "jacobi": (2.2, 1.4),
        "add_u1": (1.3, 0.9), "affine_1": (4.1, 4.2), "affine_10": (4.0, 4.1),
        "affine_100": (4.0, 3.9), "affine_1000": (2.5, 2.6),
    },
}  # fmt: skip
COLD_S = {OURS: 0.09, "numexpr": 4e-4, "numba": 0.6, "jax": 0.07, NUMPY: 0.0}
WARM_S = {OURS: 0.09, "numexpr": 3e-4, "numba": 0.05, "jax": 0.02, NUMPY: 0.0}
IMPORT_S = {OURS: 0.28, "numexpr": 0.05, "numba": 0.25, "jax": 0.6, NUMPY: 0.0}
REASONS = {
    OURS: (UNSUPPORTED, "np.exp is not compiled"),
    "numexpr": (UNSUPPORTED, "the case has no expression for it"),
    "numba": (WRONG, "result of shape (512,), NumPy's has (512, 512)"),
    "jax": (TIMEOUT, "not compiled within 60 s"),
}


def timing(case: str, peer: str, threads: int, cost: Cost | None) -> Timing:
    ratio = 1.0 if peer == NUMPY else RATIOS[peer][case][threads - 1]
    median = NUMPY_S[case] * ratio
    spread = 0.0 if peer == NUMPY else 0.03
    bound = None
    if cost is not None:
        moved = cost.bytes_read + cost.bytes_written
        least = max(moved / BYTES_PER_S[threads], cost.flops / FLOPS_PER_S[threads])
        bound = least / median
    samples = tuple(median * (1 + k / 100) for k in (-4, -2, -1, 0, 1, 2, 5))
    return Timing(
        threads, 7, median, median * 0.98, median * 1.02,
        ratio, ratio * (1 - spread), ratio * (1 + spread), bound, samples,
    )  # fmt: skip


def one_run(case: str, peer: str, cost: Cost | None) -> Run:
    if peer != NUMPY and case not in RATIOS[peer]:
        return Run(peer, *REASONS[peer])
    timings = tuple(timing(case, peer, threads, cost) for threads in THREADS)
    cold, warm = COLD_S[peer], WARM_S[peer]
    first = IMPORT_S[peer] + cold + timings[-1].median_s
    return Run(peer, OK, "", cold, warm, first, 8_000_000, timings)


def result() -> Result:
    """Thirteen cases and six peers, one of them not installed."""
    peers = [NUMPY, *RATIOS]
    cases = []
    for name, group, text, series, size, dtype, numbers in CASES:
        cost = numbers and Cost(*numbers)
        runs = tuple(one_run(name, peer, cost) for peer in peers)
        cases.append(Case(name, group, text, series, size, dtype, cost, runs))
    triads = {n: (Triad(300_000, 5 * b), Triad(200_000_000, b)) for n, b in BYTES_PER_S.items()}
    limits = tuple(Limits(n, triads[n], {"f8": f, "f4": 2 * f}) for n, f in FLOPS_PER_S.items())
    environment = Environment(
        date="2026-11-20T12:00:00Z", machine="3f9a21", cpu="Example CPU 3000", cores=2,
        features="avx avx2 avx512f fma", governor=None, memory_bytes=24 * 2**30,
        load_start=0.2, load_end=1.4, os="Linux 6.1 x86_64", python="3.11.7",
        blas="OpenBLAS 0.3.30",
        versions={"axiomjit": "0.1.0", "numpy": "2.4.6", "numba": "0.68.1", "jax": "0.10.2"},
        thread_limits={"OMP_NUM_THREADS": "2"}, commit="8f5c10a", modified=False,
    )  # fmt: skip
    known = tuple(Peer(name, OK, "", "1.0", IMPORT_S[name]) for name in peers)
    missing = Peer("torch", MISSING, "No module named 'torch'", None, None)
    return Result(
        environment, False, 0, 812.5, 1104.0, THREADS, limits, (*known, missing), tuple(cases)
    )


def newest() -> Result:
    """The newest result that is kept."""
    return results.kept(KEPT)[-1]


if __name__ == "__main__":
    FILE.write_text(to_text(result()))
