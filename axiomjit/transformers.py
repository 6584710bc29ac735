"""Runs axis graphs: `make_transformer().computation(outputs, *placeholders)(*arguments)`."""

from axiomjit.axis.transformers import Computation, Transformer, VariableValues, make_transformer

__all__ = ["Transformer", "make_transformer", "VariableValues", "Computation"]
