"""The studies that come with the package."""

from importlib.resources import files

from ensample.errors import InvalidArgument
from ensample.lab.study import Study
from ensample.registry import one_of

BUNDLED = (
    "ensemble-size",
    "rates",
    "arms",
    "perturbations",
    "scale",
    "anchors",
    "members",
    "calibration",
    "long-run",
    "forgetting",
    "clicks",
    "neural",
)


def bundled(name: str, scale: str = "") -> Study:
    """A study by its name, at its default scale or another of its scales.

    >>> bundled("rates").name
    'rates'
    """
    if name not in BUNDLED:
        raise InvalidArgument("study", name, one_of(str(name), list(BUNDLED)))
    text = files("ensample.lab").joinpath("studies", f"{name}.toml").read_text(encoding="utf-8")
    return Study.parse(text, name, scale)
