"""OpenFeature's provider for the service, which also sends rewards (extra `openfeature`)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider import Metadata
from openfeature.track import TrackingEventDetails

from ensample.client.clients import Client
from ensample.errors import ServiceError, WrongType

logger = logging.getLogger("ensample.client")


class EnsampleProvider(OFREPProvider):
    """The stock provider for OFREP, whose `track` sends the reward of a targeting key's decision.

    `rewards` says which event is a reward of which experiments: `{"bought": "shop"}`, or a list of
    them. Other events are not sent. The attribute `experiment` of an event's details names one too.
    An event without a value is worth 1. A reward that cannot be sent is logged and not raised,
    because `track` is not what a request is about.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        key: str | None = None,
        *,
        rewards: Mapping[str, str | Sequence[str]] | None = None,
        timeout: float = 5.0,
        retries: int = 4,
    ) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        super().__init__(url, headers_factory=lambda: headers, timeout=timeout)
        self._client = Client(url, key, timeout=timeout, retries=retries)
        self._rewards = {
            event: checked_names(event, name) for event, name in (rewards or {}).items()
        }

    def get_metadata(self) -> Metadata:
        return Metadata(name="ensample")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        details = tracking_event_details or TrackingEventDetails()
        key = None if evaluation_context is None else evaluation_context.targeting_key
        value = 1.0 if details.value is None else details.value
        own: Any = details.attributes.get("experiment")
        experiments = [own] if isinstance(own, str) else self._rewards.get(tracking_event_name, [])
        if experiments and not key:
            logger.warning(
                "the event %s has no targeting key: nobody's reward", tracking_event_name
            )
            return
        for experiment in experiments:
            try:
                self._client.event(experiment, str(key), value, event=tracking_event_name)
            except ServiceError as error:
                text = "the event %s is lost to the experiment %s: %s"
                logger.warning(text, tracking_event_name, experiment, error)

    def shutdown(self) -> None:
        self._client.close()
        self.session.close()


def checked_names(event: str, experiments: str | Sequence[str]) -> list[str]:
    found = [experiments] if isinstance(experiments, str) else list(experiments)
    if not all(isinstance(name, str) and name for name in found):
        expected = "the name of an experiment, or a list of names"
        raise WrongType(f"rewards[{event!r}]", experiments, expected)
    return found
