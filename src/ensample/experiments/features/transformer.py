"""What a fitted transformer of scikit-learn makes of a context."""

from typing import Any, ClassVar

import numpy as np

from ensample.checks import vector
from ensample.errors import WrongType
from ensample.experiments.features.encoder import Encoder, Items
from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import PlainDict

__all__ = ["FromTransformer"]


class FromTransformer(Encoder):
    """The columns of `transformer.transform([context])`, for one that is fitted: a pipeline, a `DictVectorizer`, a scaler.

    It gets the context as a dict, or as a row where the context is an array. It cannot be written down, so that
    `open_experiment` must be given it again.

    >>> import ensample as es
    >>> from sklearn.feature_extraction import DictVectorizer
    >>> fitted = DictVectorizer(sparse=False).fit([{"device": "phone"}, {"device": "tablet"}])
    >>> experiment = es.Experiment("news", actions=["sport"], features=es.Disjoint(es.FromTransformer(fitted)))
    >>> decision = experiment.decide({"device": "phone"})
    >>> experiment.columns
    ['[sport]', '0 x [sport]', '1 x [sport]']
    """

    stored: ClassVar[bool] = False

    def __init__(self, transformer: Any) -> None:
        if isinstance(transformer, type) or not hasattr(transformer, "transform"):
            raise WrongType("transformer", transformer, "a fitted transformer of scikit-learn")
        self.transformer = transformer

    def __repr__(self) -> str:
        return f"FromTransformer({self.transformer!r})"

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        given = values if isinstance(values, dict) else [np.nan if value is None else value for value in values]
        made = self.transformer.transform([given])
        row = vector("transform(context)", np.ravel(made.toarray() if hasattr(made, "toarray") else np.asarray(made)))
        return Items([str(place) for place in range(row.size)], row.tolist())
