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


@cache
def vector_bytes() -> int:
    """How long the vectors are that elementary functions are computed in.

    With AVX-512 the long ones, also where LLVM prefers half of them: a polynomial is done in little
    more than half the time.
    """
    try:
        from llvmlite import binding
    except ImportError:
        return 16
    features = binding.get_host_cpu_features()
    if features.get("avx512dq") and features.get("avx512vl"):
        return 64
    return 32 if features.get("avx2") else 16
