"""Layouts: dense strides, and descriptions of tensors and of views of them.

May import `base`, `symbolic`.
"""
