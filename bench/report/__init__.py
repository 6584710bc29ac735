"""The reports of a run: tables, charts and HTML pages.

May import `base`, `bench.suite`.
"""
