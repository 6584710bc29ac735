"""Dense layouts, and descriptions of tensors and views.

May import `base`, `symbolic`.
"""
