"""Types of request and response bodies. The OpenAPI document is made from them."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from ensample.experiments.decision import NamedDecision
from ensample.experiments.explanation import Explanation
from ensample.experiments.reward import Outcome

Text = Annotated[str, Meta(min_length=1, max_length=1_000)]
Context = dict[str, Any] | list[float | None]
"""Numbers, strings, booleans, lists of these and objects; or an array of numbers."""
Actions = list[Text] | dict[Text, Context | None]
"""Names, or names with features."""
Count = Annotated[int, Meta(ge=0)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Described = dict[str, Any]
"""An object with its `kind` and some fields: {"kind": "EnsembleSampling", "size": 30}."""


class Sent(Struct, forbid_unknown_fields=True):
    """A request body. A field that is not known is refused, because it would have been meant."""


class RewardRules(Sent):
    """What counts as a reward: see `Reward` in docs/experiments.md."""

    low: float = 0.0
    high: float = 1.0
    wait: Annotated[str, Meta(max_length=100)] | float | None = None
    default: float | None = None
    rule: Literal["first", "sum"] = "first"


class ExperimentCall(Sent):
    """What an experiment is. Without actions, they come with each decision."""

    actions: Actions | None = None
    reward: RewardRules | None = None
    features: Described | None = None
    recipe: Described | None = None
    floor: Annotated[float, Meta(ge=0, le=1)] | None = None
    baseline: tuple[Text, Annotated[float, Meta(ge=0, le=1)]] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None


class ExperimentView(Struct):
    """An experiment as it is now."""

    name: str
    settings: Described
    actions: list[str]
    decisions: Count
    version: Count
    waiting: Count
    outcomes: dict[str, int]
    events: Count
    paused: bool
    hash: str | None = None


class Listed(Struct):
    experiments: list[str]


class DecideCall(Sent):
    """A question.

    With `targetingKey` a decision lasts: the same key has the same action for a while.
    """

    id: Text | None = None
    context: Context | None = None
    actions: Actions | None = None
    excluded: list[Text] = []
    active: bool = True
    dry_run: bool = False
    targeting_key: Text | None = field(default=None, name="targetingKey")


class Decision(Struct):
    """An answer. `propensity` is the probability with which this action was chosen, `propensities`
    that of each on offer.
    """

    id: str
    action: str
    propensity: float | None
    propensities: dict[str, float] | None
    member: int | None
    drawn: Literal["policy", "floor", "baseline"]
    version: int
    time: Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
    active: bool


class RewardCall(Sent):
    """A reward: `value` has to be given; `reward` is another name of it.

    `action`: the one that was shown, if it may be another.

    `key`: makes rewards that are added up safe to send again.
    """

    value: float | bool | UnsetType = UNSET
    action: Text | None = None
    key: Text | None = None
    reward: float | bool | None = None


class RewardItem(RewardCall, kw_only=True):
    """A reward within a batch."""

    id: Text


VALUED = Meta(extra_json_schema={"anyOf": [{"required": ["value"]}, {"required": ["reward"]}]})
VALUED_REWARD = Annotated[RewardCall, VALUED]
VALUED_ITEM = Annotated[RewardItem, VALUED]
"""Rewards, with what OpenAPI says of them beside their fields."""


class Activation(Sent):
    """A decision that was shown, within a batch."""

    id: Text


class OutcomeAnswer(Struct):
    id: str
    outcome: Outcome


class EventCall(Sent):
    """Something happened to the holder of a targeting key: the reward of its decision."""

    experiment: Text
    targeting_key: Text = field(name="targetingKey")
    event: Text = "reward"
    value: float | bool = 1.0
    key: Text | None = None


class EventOutcome(Struct):
    outcome: Outcome
    id: str | None


class ActionsChange(Sent):
    add: Actions | None = None
    remove: list[Text] | None = None


class PauseCall(Sent):
    paused: bool = True


Explained = defstruct(
    "Explained",
    list(get_type_hints(Explanation).items()),
    namespace={"__doc__": "How a decision came about: see `Explanation`."},
)


class Imported(Struct):
    learned: Count


class EvaluateCall(Sent):
    """Which policies: "uniform", "logged", "action:NAME" or a recipe."""

    policies: list[Text | Described] = field(default_factory=lambda: ["logged"])
    low: float | None = None
    high: float | None = None
    alarm: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    interval: Literal["sequence", "normal"] = "sequence"
    question: Literal["progressive", "replay"] = "progressive"
    missing: Literal["cut", "drop", "zero"] = "cut"


class Evaluated(Struct):
    evaluations: list[Described]


class Status(Struct, omit_defaults=True):
    """Whether the service works.

    `broken`: why an experiment cannot be opened, or kept now, for those who may read it.

    `database`: the call to the database that failed.
    """

    status: str
    broken: dict[str, str] = {}
    database: str = ""


class Mistake(Struct, omit_defaults=True):
    code: str
    message: str
    argument: str | None = None


class Refused(Struct):
    """What is answered instead."""

    error: Mistake


def decision_answer(found: NamedDecision) -> Decision:
    time = EPOCH + timedelta(microseconds=found.time)
    return Decision(*found[:7], time, found.active)  # type: ignore[arg-type]
