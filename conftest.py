"""Modules that pytest does not look through for doctests."""

from importlib.util import find_spec

collect_ignore = [
    "tests/conftest.py"
]  # by then another module "conftest" is imported, that of tests/cli
if not find_spec("torch"):  # an extra that the tests do without
    collect_ignore.append("src/ensample/models/torch_nets.py")
