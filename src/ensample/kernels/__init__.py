"""Compiled loops over arrays, tested against slow, obvious twins."""
