"""Array code as fused CPU loops: write NumPy or named axes, run one compiled pass over memory."""
