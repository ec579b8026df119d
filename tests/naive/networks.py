"""Networks one at a time, observation by observation: what the batched ones are checked against."""

import math
from dataclasses import dataclass

import numpy as np

from ensample.randomness import Address, Stream


class SingleNetwork:
    """Member j of `Networks`, with matrices of its own."""

    def __init__(self, nets, weights: np.ndarray, member: int, activation: str) -> None:
        layers = nets.layers(weights)
        self.matrices = [layer.matrix[member].copy() for layer in layers]
        self.biases = [layer.bias[member].copy() for layer in layers]
        self.activation = activation
        self.moments = [[np.zeros_like(part), np.zeros_like(part)] for part in self.parameters]
        self.anchors = [part.copy() for part in self.parameters]

    @property
    def parameters(self) -> list[np.ndarray]:
        return [part for pair in zip(self.matrices, self.biases, strict=True) for part in pair]

    def phi(self, u: np.ndarray) -> np.ndarray:
        return {
            "relu": np.maximum(u, 0.0),
            "leaky": np.where(u > 0.0, u, 0.01 * u),
            "tanh": np.tanh(u),
        }[self.activation]

    def slope(self, u: np.ndarray) -> np.ndarray:
        down = {"relu": 0.0, "leaky": 0.01}.get(self.activation)
        return 1.0 - np.tanh(u) ** 2 if down is None else np.where(u > 0.0, 1.0, down)

    def output(self, x: np.ndarray) -> float:
        for W, b in list(zip(self.matrices, self.biases, strict=True))[:-1]:
            x = self.phi(W.T @ x + b)
        return float((self.matrices[-1].T @ x + self.biases[-1])[0])

    def gradient(self, x: np.ndarray, slope: float) -> list[np.ndarray]:
        """Of slope times the output, by the chain rule from the last layer to the first."""
        inputs, before = [x], []
        for W, b in list(zip(self.matrices, self.biases, strict=True))[:-1]:
            before.append(W.T @ inputs[-1] + b)
            inputs.append(self.phi(before[-1]))
        error, found = np.array([slope]), []
        for k in reversed(range(len(self.matrices))):
            found = [np.outer(inputs[k], error), error, *found]
            if k:
                error = (self.matrices[k] @ error) * self.slope(before[k - 1])
        return found

    def step(
        self, gradient: list[np.ndarray], pulls: list[float], rate: float, number: int, adam: bool
    ) -> None:
        for part, g, anchor, pull, moments in zip(
            self.parameters, gradient, self.anchors, pulls, self.moments, strict=True
        ):
            g = g + pull * (part - anchor)
            if adam:
                moments[0] = 0.9 * moments[0] + 0.1 * g
                moments[1] = 0.999 * moments[1] + 0.001 * g**2
                root = math.sqrt(1.0 - 0.999**number)
                m, v, tiny = (
                    np.float32(value) for value in (*moments, 1e-8 * root)
                )  # whose quotient is in single precision
                part -= (
                    rate * root / (1.0 - 0.9**number) * (m / (np.sqrt(v) + tiny)).astype(np.float64)
                )
            else:
                part -= rate * g


@dataclass
class NaiveEnsemble:
    """`Neural` as its docstring says it, from the whole history at every round."""

    model: object  # a Neural
    address: Address
    members: list[SingleNetwork]
    priors: list[SingleNetwork]
    spreads: list[float]  # of each matrix and bias
    rows: np.ndarray | None  # standing arms
    scale: float | None = None  # None: learned
    lam: float | None = None

    def __post_init__(self) -> None:
        self.history: list[tuple[int, np.ndarray, float]] = []
        self.memory: list[tuple[int, np.ndarray, float]] = []
        self.sizes = None if self.rows is None else typical(self.rows)
        self.misses, self.number = 0.0, 0

    def seen(self, x: np.ndarray) -> np.ndarray:
        sizes = np.zeros(x.size) if self.sizes is None else self.sizes
        return x / np.where(sizes > 0.0, sizes, np.where(x != 0.0, np.abs(x), 1.0))

    def output(self, member: int, x: np.ndarray) -> float:
        return self.members[member].output(self.seen(x)) + self.model.prior * self.priors[
            member
        ].output(self.seen(x))

    def units(self) -> tuple[float, float]:
        y = np.array([y for _, _, y in self.history])
        if not y.size:
            return 0.0, 1.0
        return float(y.mean()), float(y.std()) or abs(float(y.mean())) or 1.0

    def score(self, member: int, x: np.ndarray) -> float:
        mean, spread = self.units()
        u = self.output(member, x)
        return 1.0 / (1.0 + math.exp(-u)) if self.model.loss == "logistic" else mean + spread * u

    def learn(self, round: int, x: np.ndarray, y: float) -> None:
        miss = y - np.mean([self.score(j, x) for j in range(len(self.members))])
        self.history.append((round, x, y))
        n = len(self.history)
        share = min(1.0, 4.0 / n)
        self.misses = (1.0 - share) * self.misses + share * miss**2
        if self.rows is None:
            self.renew(x, n)
        self.keep((round, x, y), n)
        steps = max(self.model.steps, min(8, 8 * self.model.batch // n))
        filled = len(self.memory)
        if filled <= self.model.batch:
            batches = [range(filled)] * steps
        else:
            batches = self.address.generator(Stream.REPLAY, round).integers(
                filled, size=(steps, self.model.batch)
            )
        for places in batches:
            self.train([self.memory[place] for place in places], n)

    def renew(self, x: np.ndarray, n: int) -> None:
        played = np.array([x for _, x, _ in self.history])
        known = np.zeros(x.size) if self.sizes is None else self.sizes
        doubled = math.log2(n).is_integer()
        self.sizes = np.where(doubled | (known == 0.0), typical(played), known)

    def keep(self, observation: tuple, n: int) -> None:
        if n <= self.model.memory:
            self.memory.append(observation)
            return
        place = int(self.address.generator(Stream.RESERVOIR, observation[0]).integers(n))
        if place < self.model.memory:
            self.memory[place] = observation

    def train(self, batch: list[tuple], n: int) -> None:
        self.number += 1
        mean, spread = self.units()
        sigma = min(math.sqrt(self.misses), spread)
        logistic = self.model.loss == "logistic"
        lam = self.lam if self.lam is not None else 1.0 if logistic else (sigma / spread) ** 2
        pulls = [lam / n / s**2 for s in self.spreads]
        outputs = [[self.output(j, x) for j in range(len(self.members))] for _, x, _ in batch]
        for j, member in enumerate(self.members):
            total = [np.zeros_like(part) for part in member.parameters]
            for (round, x, y), given in zip(batch, outputs, strict=True):
                z = self.address.generator(Stream.PERTURBATION, round).standard_normal(
                    len(self.members)
                )[j]
                if logistic:
                    p = 1.0 / (1.0 + math.exp(-np.mean(given)))
                    noise = (0.75 if self.scale is None else self.scale) * math.sqrt(p * (1.0 - p))
                    slope = 1.0 / (1.0 + math.exp(-given[j])) - y - noise * z
                else:
                    noise = 0.75 * sigma if self.scale is None else self.scale
                    slope = given[j] - (y + noise * z - mean) / spread
                for k, g in enumerate(member.gradient(self.seen(x), slope / len(batch))):
                    total[k] += g
            member.step(total, pulls, self.model.rate, self.number, self.model.optimizer == "adam")


def typical(rows: np.ndarray) -> np.ndarray:
    """Of every column's entries that are not 0 the root mean square."""
    return np.array(
        [
            math.sqrt(np.mean(column[column != 0.0] ** 2)) if column.any() else 0.0
            for column in rows.T
        ]
    )
