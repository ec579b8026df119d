"""Which headline to show: named actions, contexts, clicks that come late or never.

Run it: `python examples/clicks.py`.
"""

import numpy as np

import ensample as es


def visitor(rng: np.random.Generator) -> dict[str, float | str]:
    return {"device": str(rng.choice(["phone", "desktop"])), "hour": float(rng.integers(24))}


def clicks(context: dict[str, float | str], headline: str, rng: np.random.Generator) -> bool:
    """On phones people like it short."""
    likes = (
        {"short": 0.30, "long": 0.10}
        if context["device"] == "phone"
        else {"short": 0.10, "long": 0.25}
    )
    return bool(rng.random() < likes[headline])


def main(rounds: int = 300) -> dict[str, float]:
    """The share of phones that were shown each headline in the last half of the rounds."""
    rng = np.random.default_rng(0)
    experiment = es.Experiment("headlines", actions=["short", "long"], seed=0)
    shown: list[str] = []
    for round in range(rounds):
        context = visitor(rng)
        decision: es.NamedDecision = experiment.decide(context)
        experiment.reward(decision.id, float(clicks(context, decision.action, rng)))
        if context["device"] == "phone" and round >= rounds // 2:
            shown.append(decision.action)
    return {action: shown.count(action) / len(shown) for action in ("short", "long")}


if __name__ == "__main__":
    print(main())
