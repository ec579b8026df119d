"""What a study file says, and how it complains."""

import re
from pathlib import Path
from typing import Any

import pytest

import ensample as es
from ensample.lab import BUNDLED, bundled
from ensample.problems.noise import as_noise
from lab.studies import SPHERE, TOML, small


def test_the_grid_is_every_combination_problem_by_problem() -> None:
    cells = small().cells
    assert [cell.name for cell in cells] == [
        "ES, sphere, dim=2, size=1",
        "ES, sphere, dim=2, size=4",
        "TS, sphere, dim=2",
        "ES, sphere, dim=3, size=1",
        "ES, sphere, dim=3, size=4",
        "TS, sphere, dim=3",
    ]
    assert [cell.number for cell in cells] == list(range(6))
    assert cells[4].recipe == es.EnsembleSampling(size=4, scale=0.3)


def test_a_file_says_the_same_as_python() -> None:
    assert es.Study.parse(TOML) == small()
    paper = es.Study.parse(TOML, scale="paper")
    assert (paper.runs, len(paper.cells)) == (12, 9)
    assert es.Study(**paper.describe()) == paper


def test_units_come_from_the_problem() -> None:
    policy = [{"recipe": "LinUCB", "radius": ["noise", "2 noise", "0.5 radius"]}]
    study = small(problem={"family": "sphere", "noise": 0.7}, policy=policy)
    beta = es.theory.radius(es.setting_of(study.cells[0].family, study.cells[0].horizon))
    assert [cell.recipe.radius for cell in study.cells] == pytest.approx([0.7, 1.4, 0.5 * beta])  # type: ignore[attr-defined]


def test_laws_and_rules_have_names_or_tables() -> None:
    law = {"kind": "CenteredBinomial", "trials": 3, "scale": "noise"}
    policy = {
        "recipe": "EnsembleSampling",
        "size": 3,
        "reward": law,
        "member": ["RoundRobin", "UniformMember"],
    }
    cells = small(policy=policy).cells
    assert cells[0].recipe == es.EnsembleSampling(
        3, reward=es.CenteredBinomial(3, 0.3), member=es.RoundRobin()
    )
    assert cells[1].axes == {"dim": 2, "member": "UniformMember()"}


def test_a_noise_is_written_as_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^noise = .*Student.*$", page, re.MULTILINE)
    study = es.Study.parse(TOML.replace("arms = 5", f"arms = 5\n{line}"))
    noises = {repr(as_noise(cell.family.noise)) for cell in study.cells}  # type: ignore[union-attr]
    assert noises == {"GaussianNoise(scale=0.3)", "StudentNoise(scale=0.3)"}


def test_a_theorem_gives_the_constants_of_each_problem_and_horizon() -> None:
    study = small(
        horizon=[50, 100], policy={"recipe": "EnsembleSampling", "theorem": True, "delta": 0.1}
    )
    for cell in study.cells:
        assert cell.recipe.setting is not None
        assert (
            cell.recipe.setting.horizon,
            cell.recipe.setting.dim,
            cell.recipe.setting.delta,
        ) == (cell.horizon, cell.axes["dim"], 0.1)


def test_policies_and_horizons_meet_the_same_problems() -> None:
    """The key of the random numbers is the problem's own, whatever else is in the grid."""
    cells = small(horizon=[50, 100]).cells
    assert len({cell.key for cell in cells}) == 2
    assert {cell.key for cell in cells} < {
        cell.key for cell in small(problem=SPHERE | {"dim": [2, 3, 9]}).cells
    }


def test_a_policy_may_be_for_some_problems_and_a_problem_may_have_its_own_horizon() -> None:
    study = small(
        problem=[{"family": "sphere"}, {"family": "ball", "horizon": 7}],
        policy=[
            {"recipe": "Greedy"},
            {"recipe": "EnsembleSampling", "theorem": True, "problems": ["sphere"]},
        ],
    )
    assert [(cell.policy, cell.problem, cell.horizon) for cell in study.cells] == [
        ("Greedy", "sphere", 60),
        ("EnsembleSampling", "sphere", 60),
        ("Greedy", "ball", 7),
    ]


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("scale", ["", "paper"])
def test_the_studies_that_come_with_the_package_can_be_read(name: str, scale: str) -> None:
    study = bundled(name, scale)
    assert study.name == name and study.question and len(study.cells) >= 7


BAD: list[tuple[str, str, list[str]]] = [
    ("runs = 6", "rums = 6", ["mine.toml: rums = 6", "runs"]),
    ("runs = 6", "runs = 0", ["mine.toml: runs = 0", "whole number from 1 to"]),
    ("runs = 6", "runs = 2.5", ["mine.toml: runs = 2.5"]),
    ("runs = 6", 'evaluation = "lasy"', ["evaluation = 'lasy'", "lazy"]),
    ("runs = 6", "seed = -1", ["seed = -1"]),
    ("runs = 6", 'baseline = "UCB"', ["baseline = 'UCB'", "ES, TS"]),
    ("horizon = 60", "horizon = -5", ["horizon = -5"]),
    ("horizon = 60", "horizon = []", ["horizon = []", "at least one value"]),
    ("horizon = 60", "", ["horizon = None", "needs name, horizon"]),
    ("horizon = 60", "horizon = 60 61", ["mine.toml", "line 3"]),
    ("dim = [2, 3]", "dim = []", ["problem.dim = []", "at least one value"]),
    ("dim = [2, 3]", "din = 2", ["problem.din = 2", "dim"]),
    ("dim = [2, 3]", 'dim = "two"', ["problem.dim = 'two'"]),
    ("dim = [2, 3]", "dim = [2, 2]", ["cells that differ", "there twice"]),
    ('label = "TS"', 'label = "ES"', ["policy[1].label = 'ES'", "of its own"]),
    ("runs = 12", "rums = 12", ["scales.paper.rums = 12"]),
    ("size = [1, 4]", "size = 4\nproblems = []", ["policy[0].problems = []"]),
    ("horizon = 60", "horizon = 10_000_000_000", ["mine.toml: horizon = 10000000000"]),
    ('family = "sphere"', 'famly = "sphere"', ["problem.family = None", "famly"]),
    ('family = "sphere"', 'family = "spere"', ["problem.family = 'spere'", "sphere"]),
    ('family = "sphere"', "", ["problem.family = None", "sphere"]),
    ('family = "sphere"', 'family = ["sphere", "ball"]', ["problem.family", "[[problem]]"]),
    ("size = [1, 4]", "sise = 4", ["policy[0].sise = 4", "size"]),
    (
        'recipe = "EnsembleSampling"\nsize = [1, 4]',
        'recipe = "EnsemblePlusPlus"',
        ["policy[0].size = None", "needs it"],
    ),
    ("size = [1, 4]", "size = [1, 0]", ["policy[0].size = 0"]),
    (
        "size = [1, 4]",
        "size = 3\nmember = { kind = 'RoundRobbin' }",
        ["policy[0].member.kind", "RoundRobin"],
    ),
    (
        "size = [1, 4]",
        "size = 3\nreward = { kind = 'Gaussian', scale = -1 }",
        ["policy[0].reward.scale = -1"],
    ),
    (
        "size = [1, 4]",
        "size = 3\nreward = { kind = 'Gaussian', width = 1 }",
        ["policy[0].reward.width = 1"],
    ),
    ("size = [1, 4]", 'theorem = "yes"', ["policy[0].theorem = 'yes'"]),
    ("size = [1, 4]", "theorem = true\nsize = 3", ["policy[0].s"]),
    ("size = [1, 4]", "size = 4\nproblems = ['ball']", ["policy[0].problems = 'ball'", "sphere"]),
    (
        'recipe = "ThompsonSampling"',
        'recipe = "Thomson"',
        ["policy[1].recipe = 'Thomson'", "ThompsonSampling"],
    ),
    (
        'scale = "noise"\n\n[scales',
        'scale = "2 noises"\n\n[scales',
        ["policy[1].scale = '2 noises'", "radius"],
    ),
    ("[scales.paper]\nruns = 12", "[scales.paper]\nrums = 12", ["scales.paper.rums = 12"]),
    ('name = "small"', 'name = "../x"', ["name = '../x'"]),
    ('name = "small"', "name = 3", ["name = 3"]),
    ('name = "small"', f'name = "{"é" * 101}"', ["name = ", "fit for a folder"]),
    ('name = "small"', r'name = "a\u001b[31m"', [r"name = 'a\x1b[31m'", "fit for a folder"]),
    ("[problem]", "problem = 3\n[other]", ["other"]),
    ("runs = 6", "runs = 10_000_000_000", ["runs = 10000000000", "2147483647"]),
    ("runs = 6", f"runs = 0x{'f' * 5000}", ["mine.toml: runs = 1e6021 or so", "at most 1e+100"]),
    ("runs = 6", f"runs = {'9' * 5000}", ["mine.toml: text", "valid TOML"]),
    ("runs = 6", f"runs = {'[' * 5000}", ["mine.toml: text", "not so deep"]),
    ("runs = 6", f"runs = {'[' * 50}{']' * 50}", ["runs[0]", "at most 20 levels"]),
    ("runs = 6", "runs = 2001-01-01", ["mine.toml: runs = datetime.date", "numbers, texts"]),
    ("arms = 5", f"{'.'.join(['a'] * 2000)} = 1", ["problem.a.a.a", "at most 20 levels"]),
    ("arms = 5", "name = 'x'", ["problem.name = 'x'", "an option of 'sphere'"]),
    (
        "arms = 5",
        "arms = 1_000_000_000",
        ["problem.arms = 1000000000", "dim = 2 and arms = 1,000,000,000"],
    ),
    ("dim = [2, 3]", "dim = 100_000", ["problem.dim = 100000", "500,000,000 numbers"]),
    ("arms = 5", "noise = { kind = [] }", ["problem.noise.kind = []", "GaussianNoise"]),
    ("runs = 6", "published = 3", ["published = 3", "[[published]]"]),
    (
        "runs = 6",
        'published = [{ policy = "TS", problem = "sphere", dim = 2, value = 1, measure = [] }]',
        ["measure = []"],
    ),
    (
        "runs = 6",
        'published = [{ policy = "ES", problem = "sphere", value = 1 }]',
        ["published", "fits 4"],
    ),
]


@pytest.mark.parametrize(("before", "after", "said"), BAD)
def test_an_error_names_the_file_the_key_the_value_and_what_was_expected(
    before: str, after: str, said: list[str]
) -> None:
    assert before in TOML
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(
            TOML.replace(before, after, 1), "mine.toml", scale="paper" if "scales" in before else ""
        )
    for part in said:
        assert part in str(caught.value)


def test_a_grid_that_is_too_large_is_counted_and_not_made() -> None:
    thousand = list(range(1, 1001))
    policy = {"recipe": "EnsembleSampling", "size": thousand}
    with pytest.raises(
        es.StudyError,
        match=r"small: cells = 1000000000: .* at most 1,000,000 cells; this one has 1,000,000,000",
    ):
        small(horizon=thousand, problem={"family": "sphere", "dim": thousand}, policy=policy)
    with pytest.raises(es.StudyError, match=r"has 1,002,001$"):
        small(
            horizon=[*thousand, 1001],
            problem={"family": "sphere", "dim": [*thousand, 1001]},
            policy={"recipe": "Greedy"},
        )


def test_policies_for_some_problems_only_are_counted_with_those() -> None:
    many = list(range(1, 101))
    problems = [
        {"family": "sphere", "horizon": 5},
        {"family": "ball", "dim": many, "horizon": many},
    ]
    policies = [
        {"recipe": "EnsembleSampling", "size": many, "problems": ["sphere"]},
        {"recipe": "Greedy", "problems": ["sphere"]},
    ]
    assert len(small(problem=problems, policy=policies).cells) == 101


def test_a_problem_of_a_scale_that_is_no_table_is_named() -> None:
    with pytest.raises(es.StudyError, match=r"problem = \[3\]"):
        es.Study.parse(
            'name = "x"\nhorizon = 1\nproblem = 3\npolicy = {}\n[scales.other]\nproblem = { dim = 2 }',
            scale="other",
        )


def test_a_scale_that_the_study_does_not_have() -> None:
    with pytest.raises(es.StudyError, match=r"scale = 'papper'.*paper"):
        es.Study.parse(TOML, scale="papper")


def test_a_theorem_that_does_not_apply_is_refused_before_anything_runs() -> None:
    with pytest.raises(es.StudyError, match=r"policy\.theorem = True.*finite"):
        small(problem={"family": "ball"}, policy={"recipe": "EnsembleSampling", "theorem": True})
    with pytest.raises(es.StudyError, match="no theorem"):
        small(policy={"recipe": "Greedy", "theorem": True})


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": [{"recipe": "Greedy", "regularization": object()}]},
        {"problem": 3},
        {"problem": object()},
        {"policy": [lambda: None]},
        {"policy": []},
        {"policy": {"recipe": "Greedy", "label": "\ud800"}},
        {"policy": {"recipe": "Greedy", 3: 4}},
        {"policy": {"recipe": "Greedy", "\ud800": 4}},
        {"name": 10**5000},
        {"seed": 10**5000},
        {"question": b"why"},
    ],
)
def test_python_objects_are_no_study(changes: dict[str, Any]) -> None:
    with pytest.raises(es.StudyError):
        small(**changes)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a system with /dev/zero")
def test_a_device_is_no_file(tmp_path: Path) -> None:
    """It would be read for ever."""
    for path in ("/dev/zero", str(tmp_path)):
        with pytest.raises(es.StudyError, match="a TOML file one can read"):
            es.Study.read(path)
