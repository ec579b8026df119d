"""The laboratory: studies as data, engines that run them, results that survive."""

from ensample.lab.results import Results
from ensample.lab.run import Progress, run_study
from ensample.lab.study import BUNDLED, Study, bundled

__all__ = ["BUNDLED", "Progress", "Results", "Study", "bundled", "run_study"]
