"""The laboratory: studies as data, engines that run them, results that survive."""

from ensample.lab.bundled import BUNDLED, bundled
from ensample.lab.results import Results
from ensample.lab.run import Progress, run_study
from ensample.lab.study import Study

__all__ = ["BUNDLED", "Progress", "Results", "Study", "bundled", "run_study"]
