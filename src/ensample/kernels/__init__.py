"""Compiled loops over arrays, tested against slow, obvious twins."""

from ensample.kernels import machine_code as machine_code  # first: it looks at the sources before one of them is imported
