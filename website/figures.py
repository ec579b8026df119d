"""Draw the figures of the tutorials and how-to pages, and the architecture's: python website/figures.py (`make docs`)."""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import numpy as np

import ensample as es
from ensample.claims import Curve, Figure
from ensample.palette import variables
from ensample.report.paper.figures import for_file

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SMOOTH = 100  # decisions


def news() -> Figure:
    """The visits of tutorials/news.md, and what there was to be had."""
    chance = {"phone": (0.30, 0.10, 0.05), "desk": (0.05, 0.25, 0.10)}
    seen = np.mean([list(visits(chance, seed)) for seed in range(10)], axis=0)
    rounds = np.arange(SMOOTH, seen.size + 1)
    return Figure(
        "A day of visits",
        "visits",
        "chance of a click",
        (
            Curve("shown by the experiment, mean of 10 days", tuple(rounds), tuple(smooth(seen))),
            Curve("the best for each reader", (SMOOTH, seen.size), (0.28, 0.28), bound=True),
            Curve("sport for all", (SMOOTH, seen.size), (0.20, 0.20), bound=True),
        ),
    )


def visits(chance: dict[str, tuple[float, ...]], seed: int, count: int = 1500) -> Iterator[float]:
    rng, now, names, arriving = np.random.default_rng(seed), [0.0], ("sport", "politics", "culture"), []
    reward = es.Reward(low=0, high=1, wait="30 min", default=0)
    experiment = es.Experiment("news", actions=names, reward=reward, clock=lambda: now[0], seed=seed)
    for _ in range(count):
        now[0] += 20.0
        for arrival in [each for each in arriving if each[0] <= now[0]]:
            experiment.reward(arrival[1], 1)
            arriving.remove(arrival)
        device = "phone" if rng.random() < 0.6 else "desk"
        decision = experiment.decide({"device": device, "age": int(rng.integers(18, 70))})
        p = chance[device][names.index(decision.action)]
        if rng.random() < p:
            arriving.append((now[0] + rng.exponential(300.0), decision.id))
        yield p


def pricing() -> Figure:
    """Median regret in the two hundred shops of tutorials/pricing.md."""
    prices = np.arange(5.0, 55.0, 5.0)
    shop = es.PricingProblem(prices, 1 / (1 + np.exp((prices - 28) / 6)))
    recipes = {
        "auto": es.EnsembleSampling(),
        "Thompson": es.ThompsonSampling(),
        "LinUCB": es.LinUCB(),
        "scale 1": es.EnsembleSampling(scale=1.0),
        "scale 20": es.EnsembleSampling(scale=20.0),
    }
    return medians("200 shops, ten prices", "customers", shop, recipes, 3000, 200)


def own_algorithm() -> Figure:
    """Two arms: a bootstrap is as stuck as greedy; drawn by greedy, whose curve it has."""
    recipes = {"ensemble": es.EnsembleSampling(20), "greedy and double-or-nothing": es.Greedy()}
    return medians("Two arms that pay 5 and 6", "rounds", es.problem("two-arms"), recipes, 150, 200)


def drift() -> Figure:
    recipes = {"no half-life": es.EnsembleSampling()}
    recipes |= {f"half_life={n}": es.EnsembleSampling(half_life=n) for n in (100, 400)}
    return medians(
        "switch: a new truth every 500 rounds", "rounds", es.problem("switch", dim=5, arms=20, every=500), recipes, 2000, 20
    )


def medians(
    title: str, x_label: str, problem: es.Problem | es.Family, recipes: dict[str, es.Recipe], horizon: int, runs: int
) -> Figure:
    curves = []
    for label, recipe in recipes.items():
        found = es.simulate(recipe, problem, horizon, runs, checkpoints=60)
        curves.append(Curve(label, tuple(found.checkpoints), tuple(found.quantile(0.5))))
    return Figure(title, x_label, "regret, median", tuple(curves))


def routing() -> Figure:
    """How often each task of tutorials/routing.md goes where it should."""
    quality = {"chat": (0.80, 0.78, 0.80), "summary": (0.55, 0.80, 0.83), "code": (0.30, 0.55, 0.85)}
    cost, names, best = (0.001, 0.01, 0.05), ("small", "medium", "large"), {"chat": 0, "summary": 1, "code": 2}
    right: dict[str, list[list[float]]] = {task: [] for task in quality}
    for seed in range(8):
        rng, shares = np.random.default_rng(seed), {task: [] for task in quality}
        reward = es.Reward(low=-0.2, high=1, wait="1 h")
        router = es.Experiment(
            "router", actions=names, features=es.Disjoint(), reward=reward, baseline=("medium", 0.05), seed=seed
        )
        for _ in range(1500):
            task, length = str(rng.choice(list(quality), p=[0.5, 0.3, 0.2])), float(rng.exponential(1.0))
            decision = router.decide({"task": task, "length": length})
            for each in quality:
                shares[each].append(shares[each][-1] if shares[each] else 1 / 3)
            shares[task][-1] = decision.propensities[names[best[task]]]
            arm = names.index(decision.action)
            if rng.random() < 0.4:
                rating = float(np.clip(rng.normal(quality[task][arm] - 0.02 * length, 0.25), 0, 1))
                router.reward(decision, rating - 4 * cost[arm])
        for task in quality:
            right[task].append(shares[task])
    curves = [
        Curve(f"{task} to the {names[best[task]]} model", tuple(range(SMOOTH, 1501)), tuple(smooth(np.mean(found, axis=0))))
        for task, found in right.items()
    ]
    return Figure("Mean of eight routers", "requests", "share that goes there", tuple(curves))


def smooth(values: np.ndarray) -> np.ndarray:
    """Means of the last hundred."""
    return np.convolve(values, np.full(SMOOTH, 1 / SMOOTH), mode="valid")


FIGURES: dict[str, Callable[[], Figure]] = {
    "news": news,
    "pricing": pricing,
    "routing": routing,
    "own-algorithm": own_algorithm,
    "drift": drift,
}

LAYERS = (
    ("cli", "commands: a skin over Python", 1),
    ("serve  client  report  bench", "HTTP and who calls it; pages; speed", 0),
    ("evaluation", "what a log says of other policies", 2),
    ("claims  lab", "the paper as programs; studies", 3),
    ("experiments  simulation", "names, contexts, ledger; replicates", 2),
    ("policies  problems", "one algorithm a file; environments", 0),
    ("models", "linear, logistic, networks", 7),
    ("kernels", "compiled loops over arrays", 7),
    ("theory  perturbations  members  arms  calibration", "the paper's words", 3),
    ("randomness  statistics  checks  errors  ...", "what all stand on", 9),
)


def architecture() -> str:
    """The layers from top to bottom, and the two ways through them."""
    width, row, left, box = 640, 46, 8, 430
    height = row * len(LAYERS) + 12
    tones = [{name: pair[place] for name, pair in variables().items()} for place in (0, 1)]
    used = sorted({"--quiet", "--rule", *(f"--s{colour}" for *_, colour in LAYERS)})
    rules = [
        f"svg{{color:{tone['--ink']};background:{tone['--paper']};{''.join(f'{name}:{tone[name]};' for name in used)}}}"
        for tone in tones
    ]
    label = "Ten layers; each imports from those below it only: " + "; ".join(names for names, *_ in LAYERS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" role="img" aria-label="{label}">',
        f"<style>{rules[0]}@media (prefers-color-scheme:dark){{{rules[1]}}}text{{font-family:sans-serif}}</style>",
    ]
    for place, (names, words, colour) in enumerate(LAYERS):
        top = 6 + row * place
        tone = f"var(--s{colour})"
        parts.append(
            f'<rect x="{left}" y="{top}" width="{box}" height="{row - 8}" rx="4" fill="{tone}" stroke="{tone}"'
            ' fill-opacity="0.1"/>'
            f'<text x="{left + 12}" y="{top + 16}" font-size="13" font-weight="600" fill="currentColor">{escape(names)}</text>'
            f'<text x="{left + 12}" y="{top + 32}" font-size="11.5" fill="var(--quiet)">{escape(words)}</text>'
        )
    parts += [
        way(470, 0, 8, "a decision", "decide, learn, log", row),
        way(560, 0, 7, "a study", "simulate, report", row),
        "</svg>\n",
    ]
    return "".join(parts)


def way(x: int, start: int, end: int, name: str, words: str, row: int) -> str:
    """An arrow downwards: what asks what."""
    top, bottom = 6 + row * start + 44, 6 + row * end + 14
    return (
        f'<text x="{x}" y="{top - 26}" font-size="12" font-weight="600" fill="currentColor">{name}</text>'
        f'<text x="{x}" y="{top - 11}" font-size="10.5" fill="var(--quiet)">{words}</text>'
        f'<path d="M{x + 20} {top}V{bottom}m-5 -8l5 8l5 -8" fill="none" stroke="var(--quiet)" stroke-width="1.5"/>'
    )


if __name__ == "__main__":
    (IMAGES / "tutorials").mkdir(exist_ok=True)
    for name, figure in FIGURES.items():
        (IMAGES / "tutorials" / f"{name}.svg").write_text(for_file(figure(), name), encoding="utf-8")
    (IMAGES / "architecture.svg").write_text(architecture(), encoding="utf-8")
