"""What can be seen of an experiment at once, without asking its events."""

import warnings
from typing import Any

from ensample.errors import FeatureCapWarning, IdentifierWarning
from ensample.experiments.identifiers import TextFields
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.experiments.storage.base import Storage


class Facts:
    """Of its state."""

    settings: Settings
    _state: State
    _storage: Storage
    _texts: TextFields
    _warned = False  # of the cap

    def __repr__(self) -> str:
        state = self._state
        return (
            f"Experiment({self.name!r}, {len(state.actions)} actions, "
            f"{state.round} decisions, {state.learner.version} rewards)"
        )

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def seed(self) -> int:
        """The seed that was given or drawn when the experiment was created."""
        return self.settings.seed

    @property
    def actions(self) -> list[str]:
        """The names of the standing actions."""
        return list(self._state.standing)

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self._state.learner.version

    @property
    def is_finite(self) -> bool:
        """Return False if a number of the model is infinite or NaN. No reward that is accepted makes one so."""
        return self._state.learner.is_finite()

    @property
    def columns(self) -> list[str]:
        """The features that have a column of x of their own, in order; none where names are hashed."""
        return list(self._state.featuriser.seen.columns)

    @property
    def counts(self) -> dict[str, int]:
        """How many rewards had which outcome; also how many decisions got the default or expired without a reward."""
        return dict(self._state.counts)

    @property
    def events(self) -> int:
        """The number of events that are kept."""
        return self._storage.count

    @property
    def decisions(self) -> int:
        """The number of decisions taken, and of rewards from elsewhere."""
        return self._state.round

    @property
    def waiting(self) -> int:
        """The number of decisions that wait for their reward."""
        return len(self._state.open)

    def _watch_cap(self) -> None:
        if not self._warned and self._state.grows and self._state.featuriser.seen.full:
            self._warned = True
            count, cap = len(self._state.featuriser.seen.columns), self.settings.features.cap
            warnings.warn(
                f"{self.name}: {count} features have been seen, and x has {cap} columns: what is new from now on shares a few. "
                "Give fewer columns of the context, features=Crosses(Columns('age', ...)), or spread all features "
                f"evenly over as many columns, features=Hashing({cap})",
                FeatureCapWarning,
                stacklevel=5,
            )

    def _watch_texts(self, context: Any) -> None:
        field = self._texts.find_identifier(context, self._state.featuriser.seen.values)
        if field is not None:
            warnings.warn(
                f"{self.name}: the field {field!r} of contexts had {self._texts.most} texts, all of them different: each "
                "is a column of its own, and what one earns says nothing of the next. Leave an identifier out, features="
                "Crosses(Columns('age', ...)) with the fields that count; of a free text make numbers, "
                f"FromTransformer(fitted, {field!r})",
                IdentifierWarning,
                stacklevel=5,
            )
