"""The log of an experiment as rows that are filled in as rewards come.

All of them in memory, every expiry looks at all.
"""

from ensample.experiments.events import Activated, Changed, Decided, Event, Expired, Rewarded
from ensample.experiments.inputs import Actions
from ensample.experiments.log.table import LOG_VERSION, Row, compact
from ensample.experiments.settings import Settings
from ensample.experiments.state import merged


def log_rows(settings, events, now):
    """The log of an experiment's events, as of `now`."""
    book = Book(settings)
    for event in events:
        book.enter(event)
    book.expired(Expired(now, None))
    return list(book.rows.values())


class Book:
    """Rows in the order of the decisions, filled in as rewards come."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.actions: Actions = dict(settings.actions or {})
        self.rows: dict[str, Row] = {}
        self.waiting: dict[str, Row] = {}
        self.keys: set[tuple[str, str]] = (
            set()
        )  # (decision, key) of rewards that counted or were late

    def enter(self, event: Event) -> None:
        match event:
            case Decided():
                self.rows[event.id] = self.waiting[event.id] = self.decided(event)
            case Rewarded():
                self.rewarded(event)
            case Activated():
                if event.outcome == "applied":
                    self.rows[event.id]["active"] = True
            case Expired():
                self.expired(event)
            case Changed():
                kept = {
                    name: features
                    for name, features in self.actions.items()
                    if name not in event.removed
                }
                self.actions = kept | event.added

    def decided(self, event: Decided) -> Row:
        names, baseline = event.offer, self.settings.baseline
        moment = event.features or {}
        features = {name: merged(self.actions.get(name), moment.get(name)) for name in names}
        known = event.propensities
        held = baseline is not None and baseline[0] in names
        return {
            "log_version": LOG_VERSION,
            "id": event.id,
            "time": event.time,
            "experiment": self.settings.name,
            "policy_version": event.version,
            "round": event.round,
            "context": compact(event.context),
            "offer": list(names),
            "features": compact(features)
            if any(item is not None for item in features.values())
            else None,
            "action": event.action,
            "propensity": None if known is None else known[names.index(event.action)],
            "propensities": None if known is None else list(known),
            "member": event.member,
            "drawn": event.drawn,
            "floor": self.settings.floor,
            "baseline": baseline[0] if baseline is not None and held else None,
            "share": baseline[1] if baseline is not None and held else 0.0,
            "active": event.active,
            "reward": None,
            "outcome": "waiting",
            "reward_time": None,
            "duplicate": 0,
            "late": 0,
            "not_shown": 0,
            "reward_low": self.settings.reward.low
            if self.settings.reward.rule == "first"
            else None,
            "reward_high": self.settings.reward.high
            if self.settings.reward.rule == "first"
            else None,
            "late_rewards": [],
        }

    def rewarded(self, event: Rewarded) -> None:
        row = self.rows.get(event.id)
        if row is None:
            return  # unknown
        again = event.key is not None and (event.id, event.key) in self.keys
        if event.key is not None and event.outcome in ("late", "applied"):
            self.keys.add((event.id, event.key))
        if event.outcome != "applied":
            row[event.outcome] += 1
            if event.outcome == "late" and not again:
                row["late_rewards"].append({"value": event.value, "time": event.time})
            return
        row["reward"] = event.value if row["reward"] is None else row["reward"] + event.value
        row["reward_time"] = event.time
        if self.settings.reward.rule == "first":
            row["outcome"] = "applied"
            del self.waiting[event.id]

    def expired(self, event: Expired) -> None:
        """As `State.due_at`: the earliest deadlines first."""
        wait = self.settings.reward.wait_microseconds
        if wait is None:
            return
        due = [row for row in self.waiting.values() if row["time"] + wait < event.time]
        for row in sorted(due, key=lambda row: (row["time"], row["round"]))[: event.most]:
            del self.waiting[row["id"]]
            if row["reward"] is not None:
                row["outcome"] = "applied"
            elif self.settings.reward.default is None or not row["active"]:
                row["outcome"] = "expired"
            else:
                row["outcome"], row["reward"] = "default", self.settings.reward.default
                row["reward_time"] = row["time"] + wait
