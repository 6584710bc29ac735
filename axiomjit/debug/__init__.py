"""Inspection: every stage of a program as data, as text and as a page.

May import `base`, `symbolic`, `graph`, `passes.ir`, `passes`, `runtime.codegen`.
"""
