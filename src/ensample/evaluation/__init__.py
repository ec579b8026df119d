"""Off-policy evaluation: `evaluate(log, target)`. Needs the extra `lab`."""

from ensample.evaluation.evaluate import evaluate
from ensample.evaluation.evaluation import Evaluation
from ensample.evaluation.sums import Estimate

__all__ = ["Estimate", "Evaluation", "evaluate"]
