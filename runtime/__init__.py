"""The runtime: from kernel source to running code."""
