"""The passes: from graph to kernels, one file and one verb each."""
