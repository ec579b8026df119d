"""Draw the figures of tutorials, how-to pages and the architecture (`make docs`)."""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import numpy as np

import ensample as es
from ensample.claims import Curve, Figure
from ensample.palette import variables
from ensample.report.paper.page import svg_file

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
    rng, now, names, arriving = (
        np.random.default_rng(seed),
        [0.0],
        ("sport", "politics", "culture"),
        [],
    )
    reward = es.Reward(low=0, high=1, wait="30 min", default=0)
    experiment = es.Experiment(
        "news", actions=names, reward=reward, clock=lambda: now[0], seed=seed
    )
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
        "switch: a new truth every 500 rounds",
        "rounds",
        es.problem("switch", dim=5, arms=20, every=500),
        recipes,
        2000,
        20,
    )


def medians(
    title: str,
    x_label: str,
    problem: es.Problem | es.Family,
    recipes: dict[str, es.Recipe],
    horizon: int,
    runs: int,
) -> Figure:
    curves = []
    for label, recipe in recipes.items():
        found = es.simulate(recipe, problem, horizon, runs, checkpoints=60)
        curves.append(Curve(label, tuple(found.checkpoints), tuple(found.quantile(0.5))))
    return Figure(title, x_label, "regret, median", tuple(curves))


def routing() -> Figure:
    """How often each task of tutorials/routing.md goes where it should."""
    quality = {
        "chat": (0.80, 0.78, 0.80),
        "summary": (0.55, 0.80, 0.83),
        "code": (0.30, 0.55, 0.85),
    }
    cost, names, best = (
        (0.001, 0.01, 0.05),
        ("small", "medium", "large"),
        {"chat": 0, "summary": 1, "code": 2},
    )
    right: dict[str, list[list[float]]] = {task: [] for task in quality}
    for seed in range(8):
        rng, shares = np.random.default_rng(seed), {task: [] for task in quality}
        reward = es.Reward(low=-0.2, high=1, wait="1 h")
        router = es.Experiment(
            "router",
            actions=names,
            features=es.Disjoint(),
            reward=reward,
            baseline=("medium", 0.05),
            seed=seed,
        )
        for _ in range(3000):
            task, length = (
                str(rng.choice(list(quality), p=[0.5, 0.3, 0.2])),
                float(rng.exponential(1.0)),
            )
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
        Curve(
            f"{task} to the {names[best[task]]} model",
            tuple(range(SMOOTH, 3001)),
            tuple(smooth(np.mean(found, axis=0))),
        )
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

PRODUCT, RESEARCH, SHARED = "--s0", "--s1", "--quiet"
LAYERS = (
    (("cli", "commands", SHARED),),
    (("service, client", "HTTP and who calls it", PRODUCT), ("report", "pages", RESEARCH)),
    (("evaluation", "what a log says", PRODUCT), ("claims, lab", "the paper; studies", RESEARCH)),
    (
        ("experiments", "names, contexts, ledger", PRODUCT),
        ("simulation", "replicates, lazily", RESEARCH),
    ),
    (
        ("policies", "one algorithm a file", PRODUCT),
        ("problems", "a known truth; data sets", RESEARCH),
    ),
    (("models", "linear, logistic, networks: score and learn", SHARED),),
    (("_core", "compiled kernels in C++ over NumPy's arrays", SHARED),),
    (("theory, perturbations, member_rules, arms, calibration", "the paper's words", SHARED),),
    (("randomness, statistics, checks, errors, ...", "what all stand on", SHARED),),
)
WIDTH, ROW, GAP, TITLES, MARGIN = 470, 50, 8, 24, 26


def architecture() -> str:
    """Draw the layers: products on the left, research on the right, shared ones across."""
    height = TITLES + (ROW + GAP) * len(LAYERS)
    names = sorted({"--quiet", *(tone for row in LAYERS for *_, tone in row)})
    light, dark = (
        f"color:{variables()['--ink'][mode]};background:{variables()['--paper'][mode]};"
        + "".join(f"{name}:{variables()[name][mode]};" for name in names)
        for mode in (0, 1)
    )
    label = "Layers, each importing from those below it only: " + "; ".join(
        " beside ".join(part for part, *_ in row) for row in LAYERS
    )
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="100%"'
            ' role="img"',
            f' aria-label="{label}">',
            f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}"
            "text{font-family:sans-serif}</style>",
            *(
                words(x, 15, name, 12, "var(--quiet)")
                for x, name in ((MARGIN, "a product"), (place(1, 2), "research"))
            ),
            f'<path d="M10 {TITLES}V{height - GAP}m-5 -9l5 9l5 -9" fill="none" '
            'stroke="var(--quiet)" stroke-width="1.5"/>',
            *(
                box(place(column, len(row)), TITLES + (ROW + GAP) * number, width(len(row)), *part)
                for number, row in enumerate(LAYERS)
                for column, part in enumerate(row)
            ),
            "</svg>\n",
        ]
    )


def width(columns: int) -> int:
    return (WIDTH - MARGIN - 2 - GAP * (columns - 1)) // columns


def place(column: int, columns: int) -> int:
    return MARGIN + column * (width(columns) + GAP)


def box(x: int, y: int, wide: int, names: str, meaning: str, tone: str) -> str:
    size = f'x="{x}" y="{y}" width="{wide}" height="{ROW}" rx="4"'
    shape = f'{size} fill="var({tone})" fill-opacity="0.1" stroke="var({tone})"'
    return (
        f"<rect {shape}/>"
        + words(x + 10, y + 21, names, 14, "currentColor", 600)
        + words(x + 10, y + 39, meaning, 12.5)
    )


def words(
    x: int, y: int, text: str, size: float, tone: str = "var(--quiet)", weight: int = 400
) -> str:
    font = f'font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {font} fill="{tone}">{escape(text)}</text>'


if __name__ == "__main__":
    (IMAGES / "architecture.svg").write_text(architecture(), encoding="utf-8")
    (IMAGES / "tutorials").mkdir(exist_ok=True)
    for name, figure in FIGURES.items():
        (IMAGES / "tutorials" / f"{name}.svg").write_text(
            svg_file(figure(), name), encoding="utf-8"
        )
