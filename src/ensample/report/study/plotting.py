"""`Results.plot`: the first figure of the report."""

from matplotlib.figure import Figure

from ensample.checks import boolean
from ensample.errors import InvalidArgument
from ensample.lab.results import Results
from ensample.report.study.figures.arrange import Looks
from ensample.report.study.figures.regret import curve_plate
from ensample.report.study.report import chosen_baseline


def plot_results(results: Results, log: bool) -> Figure:
    """Regret over the rounds, a panel a problem."""
    if not results.outcomes:
        raise InvalidArgument("results", results, "at least one finished cell")
    return curve_plate(
        results, Looks(results.study, chosen_baseline(results, "")), boolean("log", log)
    ).for_file()
