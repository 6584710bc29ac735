"""What neon users expect to find.

May import `axis`.
"""
