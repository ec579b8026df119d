"""What a featuriser says, name by name.

A dict of named numbers for each action, as the docstrings have it.
"""

from typing import Any

MISSING = " is missing"


def everything(values: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """Numbers as they are, an indicator for each string, dicts by their paths."""
    found: dict[str, float] = {}
    for key, value in values.items():
        path = prefix + key
        if value is None:
            found[path + MISSING] = 1.0
        elif isinstance(value, bool | int | float):
            found[path] = float(value)
        elif isinstance(value, str):
            found[f"{path}={value}"] = 1.0
        elif isinstance(value, dict):
            found.update(everything(value, f"{path}."))
        else:
            for place, item in enumerate(value):
                found[f"{path}={item}" if isinstance(item, str) else f"{path}[{place}]"] = (
                    1.0 if isinstance(item, str) else item
                )
    return found


def crossed(
    context: dict[str, Any], action: str, features: dict[str, Any] | None
) -> dict[str, float]:
    """`Crosses()`."""
    common, own = everything(context), {} if features is None else everything(features)
    partners = own or {f"[{action}]": 1.0}
    crosses = {f"{a} x {b}": u * v for a, u in common.items() for b, v in partners.items()}
    return {f"[{action}]": 1.0, **common, **own, **crosses}


def disjoint(
    context: dict[str, Any], action: str, features: dict[str, Any] | None
) -> dict[str, float]:
    """`Disjoint()`."""
    parts = {**everything(context), **({} if features is None else everything(features))}
    return {
        f"[{action}]": 1.0,
        **{f"{name} x [{action}]": number for name, number in parts.items()},
    }
