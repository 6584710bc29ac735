"""Constants of several recipes."""

INFINITY, NAN = float("inf"), float("nan")
LOG2_E = 1.4426950408889634
LN2 = {
    "f4": (0.693145751953125, 1.428606765330187e-06),
    "f8": (0.6931471805598903, 5.497923018708371e-14),
}
"""log(2) as a sum whose first part times an exponent is exact: it has 16 or 42 bits."""
HALF_PI = {
    "f4": (1.5707963705062866, -4.371138828673793e-08),
    "f8": (1.5707963267948966, 6.123233995736766e-17),
}
"""pi / 2 as a sum."""
