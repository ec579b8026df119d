"""What a log says of another policy: `evaluate(log, target)`. Needs the extra `lab`."""

from ensample.evaluation.evaluate import evaluate
from ensample.evaluation.evaluation import Evaluation
from ensample.evaluation.tally import Estimate

__all__ = ["Estimate", "Evaluation", "evaluate"]
