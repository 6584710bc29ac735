"""The report of runs: tables, charts, the page.

May import `base`, `bench.suite`.
"""
