"""The report of runs: tables, charts and HTML pages.

May import `base`, `bench.suite`.
"""
