"""The module of each public name.

`__init__.pyi` has a line for each. Type checkers read it, and so does this module: there is no
other list of what there is.
"""

from pkgutil import get_data


def homes() -> dict[str, str]:
    """The module of every public name; "ensample" itself for a module."""
    lines = (get_data(__package__, "__init__.pyi") or b"").decode().splitlines()
    imports = [line.split() for line in lines if line.startswith("from ")]
    return {name: module for _, module, _, name, _, _ in imports}


HOMES = homes()
PARTS = {module.split(".")[1] for module in HOMES.values() if "." in module}
"""The modules and packages right below this one that have public names."""
