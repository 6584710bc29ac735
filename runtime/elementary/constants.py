"""Constants that several recipes share."""

ByPrecision = dict[str, tuple[float, ...]]
"""Numbers by precision: "f4" and "f8"."""
INFINITY, NAN = float("inf"), float("nan")
LOG2_E = 1.4426950408889634
LN2 = {
    "f4": (0.693145751953125, 1.428606765330187e-06),
    "f8": (0.6931471805598903, 5.497923018708371e-14),
}
"""log(2) as a sum of two floats; the first has 16 or 42 bits, so its product with k is exact."""
LOG2_OF_E: ByPrecision = {
    "f4": (1.4426950216293335, 1.925963033500011e-08),
    "f8": (1.4426950408889634, 2.0355273740931033e-17),
}
"""log2(e) as a sum of two floats."""
LOG10_OF_E: ByPrecision = {
    "f4": (0.4342944920063019, -1.0103049952192578e-08),
    "f8": (0.4342944819032518, 1.098319650216765e-17),
}
"""log10(e) as a sum of two floats."""
HALF_PI = {
    "f4": (1.5707963705062866, -4.371138828673793e-08),
    "f8": (1.5707963267948966, 6.123233995736766e-17),
}
"""pi / 2 as a sum of two floats."""
