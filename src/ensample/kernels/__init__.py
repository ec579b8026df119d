"""Compiled loops over arrays. Each has a slow, obvious twin in tests/naive."""
