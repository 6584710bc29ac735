"""Doors in the manner of other systems."""
