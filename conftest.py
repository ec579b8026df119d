"""Modules that pytest does not look through for doctests."""

from importlib.util import find_spec

collect_ignore_glob = ["*/conftest.py"]  # several modules of one name
collect_ignore = []
if not find_spec("torch"):  # an extra that the tests do without
    collect_ignore.append("src/ensample/models/torch_nets.py")
