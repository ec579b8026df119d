"""A figure that notebooks show by itself, whether or not pyplot has been imported."""

from typing import Any

from matplotlib.figure import Figure

from ensample.report.drawing.files import rendered
from ensample.report.drawing.style import house_style

SHARP = 2.0  # pixels of the picture for each pixel of the page
PER_INCH = 100.0  # pixels of the page


class ShownFigure(Figure):
    """A matplotlib figure that is its own picture."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        with house_style(**{"savefig.dpi": SHARP * PER_INCH}):
            data = rendered(self, "png")
        width, height = (round(PER_INCH * float(inches)) for inches in self.get_size_inches())
        return data, {"width": width, "height": height}
