"""The command line: a skin over the Python API."""
