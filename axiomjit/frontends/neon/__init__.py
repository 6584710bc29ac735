"""Names that users of neon expect.

May import `axis`.
"""
