"""Inspection: every stage of a program as data, as text and as an HTML page.

May import `base`, `symbolic`, `graph`, `passes.ir`, `passes`, `runtime.codegen`.
"""
