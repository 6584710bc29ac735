"""The CPU benchmarking suite."""
