"""Layouts: dense strides, and descriptions of tensors and views.

May import `base`, `symbolic`.
"""
