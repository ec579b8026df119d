"""The estimators as their definitions read.

One row after the other, nothing shared with the package.
"""


def ips(target, propensity, chosen, rewards):
    return sum(
        pi[a] / p * r for pi, p, a, r in zip(target, propensity, chosen, rewards, strict=True)
    ) / len(rewards)


def snips(target, propensity, chosen, rewards):
    weights = [pi[a] / p for pi, p, a in zip(target, propensity, chosen, strict=True)]
    return sum(w * r for w, r in zip(weights, rewards, strict=True)) / sum(weights)


def dm(target, predicted):
    return sum(
        sum(p * q for p, q in zip(pi, row, strict=True))
        for pi, row in zip(target, predicted, strict=True)
    ) / len(target)


def dr(target, propensity, chosen, rewards, predicted):
    corrected = sum(
        pi[a] / p * (r - row[a])
        for pi, p, a, r, row in zip(target, propensity, chosen, rewards, predicted, strict=True)
    )
    return dm(target, predicted) + corrected / len(rewards)


def effective(target, propensity, chosen):
    weights = [pi[a] / p for pi, p, a in zip(target, propensity, chosen, strict=True)]
    return sum(weights) ** 2 / sum(w * w for w in weights)
