"""Where elements lie: dense layouts, and descriptions of tensors and of views of them.

May import `base`, `algebra`.
"""
