"""What the CPU at hand does well, where that decides how a kernel is written."""

from functools import cache


@cache
def divides_long_vectors() -> bool:
    """Whether 64-bit integers are best divided as vectors, by way of float64.

    That takes packed conversions between the two, which AVX-512DQ has. Elsewhere the instruction
    for single numbers is faster, and makes scalar code of the loop around it.
    """
    try:
        from llvmlite import binding
    except ImportError:  # nothing is compiled here
        return False
    return bool(binding.get_host_cpu_features().get("avx512dq"))
