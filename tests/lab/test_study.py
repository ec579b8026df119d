"""What a study file describes, and the errors of one that is wrong."""

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import ensample as es
from ensample.errors import SHOWN, InvalidArgument
from ensample.lab import BUNDLED, bundled
from ensample.lab.mistakes import MOST, Mistakes, errors_in_options
from ensample.problems.noise import as_noise
from lab.studies import POLICIES, SPHERE, TOML, small

ES = {"recipe": "EnsembleSampling"}

# What a file describes


def test_grid_is_every_combination_problem_by_problem() -> None:
    cells = small().cells
    each = ["ES, sphere, dim={}, size=1", "ES, sphere, dim={}, size=4", "TS, sphere, dim={}"]
    assert [cell.name for cell in cells] == [name.format(dim) for dim in (2, 3) for name in each]
    assert [cell.number for cell in cells] == list(range(6))
    assert cells[4].recipe == es.EnsembleSampling(size=4, scale=0.3)


def test_file_is_the_same_study_as_python() -> None:
    assert es.Study.parse(TOML) == small()
    paper = es.Study.parse(TOML, scale="paper")
    assert (paper.runs, len(paper.cells)) == (12, 9)
    assert es.Study(**paper.describe()) == paper


def test_units_come_from_the_problem() -> None:
    policy = [{"recipe": "LinUCB", "radius": ["noise", "2 noise", "0.5 radius"]}]
    study = small(problem={"family": "sphere", "noise": 0.7}, policy=policy)
    beta = es.theory.radius(es.setting_of(study.cells[0].family, study.cells[0].horizon))
    radii = [cell.recipe.radius for cell in study.cells]  # type: ignore[attr-defined]
    assert radii == pytest.approx([0.7, 1.4, 0.5 * beta])


def test_laws_and_rules_have_names_or_tables() -> None:
    law = {"kind": "CenteredBinomial", "trials": 3, "scale": "noise"}
    cells = small(policy=ES | {"size": 3, "reward": law, "member": ["RoundRobin", "UniformMember"]})
    reward = es.CenteredBinomial(3, 0.3)
    first, second, *_ = cells.cells
    assert first.recipe == es.EnsembleSampling(3, reward=reward, member=es.RoundRobin())
    assert second.axes == {"dim": 2, "member": "UniformMember()"}


def test_noise_is_written_as_the_page_shows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^noise = .*Student.*$", page, re.MULTILINE)
    study = es.Study.parse(TOML.replace("arms = 5", f"arms = 5\n{line}"))
    noises = {repr(as_noise(cell.family.noise)) for cell in study.cells}  # type: ignore[union-attr]
    assert noises == {"GaussianNoise(scale=0.3)", "StudentNoise(scale=0.3)"}


def test_theorem_gives_the_constants_of_each_problem_and_horizon() -> None:
    study = small(horizon=[50, 100], policy=ES | {"theorem": True, "delta": 0.1})
    for cell in study.cells:
        setting = cell.recipe.setting
        assert setting is not None
        expected = cell.horizon, cell.axes["dim"], 0.1
        assert (setting.horizon, setting.dim, setting.delta) == expected


def test_policies_and_horizons_meet_the_same_problems() -> None:
    """The address of random numbers is the problem's own, whatever else is in the grid."""
    cells = small(horizon=[50, 100]).cells
    more = small(problem=SPHERE | {"dim": [2, 3, 9]}).cells
    assert len({cell.key for cell in cells}) == 2
    assert {cell.key for cell in cells} < {cell.key for cell in more}


def test_policy_may_be_for_some_problems_and_a_problem_may_have_its_own_horizon() -> None:
    problems = [{"family": "sphere"}, {"family": "ball", "horizon": 7}]
    theorem = ES | {"theorem": True, "problems": ["sphere"]}
    study = small(problem=problems, policy=[{"recipe": "Greedy"}, theorem])
    assert [(cell.policy, cell.problem, cell.horizon) for cell in study.cells] == [
        ("Greedy", "sphere", 60),
        ("EnsembleSampling", "sphere", 60),
        ("Greedy", "ball", 7),
    ]


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("scale", ["", "paper"])
def test_studies_of_the_package_can_be_read(name: str, scale: str) -> None:
    study = bundled(name, scale)
    assert study.name == name and study.question and len(study.cells) >= 7


# One mistake each: what is replaced in TOML, by what, and parts of the error

SIZE, POLICY_1 = "size = [1, 4]", 'recipe = "ThompsonSampling"'
BAD: list[tuple[str, str, list[str]]] = [
    ("runs = 6", "rums = 6", ["mine.toml: rums = 6", "runs"]),
    ("runs = 6", "runs = 0", ["mine.toml: runs = 0", "whole number from 1 to"]),
    ("runs = 6", "runs = 2.5", ["mine.toml: runs = 2.5"]),
    ("runs = 6", 'evaluation = "lasy"', ["evaluation = 'lasy'", "lazy"]),
    ("runs = 6", "seed = -1", ["seed = -1"]),
    ("runs = 6", 'baseline = "UCB"', ["baseline = 'UCB'", "ES, TS"]),
    ("runs = 6", "runs = 10_000_000_000", ["runs = 10000000000", "2147483647"]),
    ("runs = 6", f"runs = 0x{'f' * 5000}", ["mine.toml: runs = 1e6021 or so", "at most 1e+100"]),
    ("runs = 6", f"runs = {'9' * 5000}", ["mine.toml: text", "valid TOML"]),
    ("runs = 6", f"runs = {'[' * 5000}", ["mine.toml: text", "not so deep"]),
    ("runs = 6", f"runs = {'[' * 50}{']' * 50}", ["runs[0]", "at most 20 levels"]),
    ("runs = 6", "runs = 2001-01-01", ["mine.toml: runs = datetime.date", "numbers, texts"]),
    ("runs = 6", "published = 3", ["published = 3", "[[published]]"]),
    ("horizon = 60", "horizon = -5", ["horizon = -5"]),
    ("horizon = 60", "horizon = []", ["horizon = []", "at least one value"]),
    ("horizon = 60", "", ["horizon = None", "needs name, horizon"]),
    ("horizon = 60", "horizon = 60 61", ["mine.toml", "line 3"]),
    ("horizon = 60", "horizon = 10_000_000_000", ["mine.toml: horizon = 10000000000"]),
    ("dim = [2, 3]", "dim = []", ["problem.dim = []", "at least one value"]),
    ("dim = [2, 3]", "din = 2", ["problem.din = 2", "dim"]),
    ("dim = [2, 3]", 'dim = "two"', ["problem.dim = 'two'"]),
    ("dim = [2, 3]", "dim = [2, 2]", ["cells that differ", "there twice"]),
    ("dim = [2, 3]", "dim = 100_000", ["problem.dim = 100000", "500,000,000 numbers"]),
    ("arms = 5", f"{'.'.join(['a'] * 2000)} = 1", ["problem.a.a.a", "at most 20 levels"]),
    ("arms = 5", "name = 'x'", ["problem.name = 'x'", "an option of 'sphere'"]),
    ("arms = 5", "arms = 1_000_000_000", ["dim = 2 and arms = 1,000,000,000"]),
    ("arms = 5", "noise = { kind = [] }", ["problem.noise.kind = []", "GaussianNoise"]),
    ('family = "sphere"', 'famly = "sphere"', ["problem.family = None", "famly"]),
    ('family = "sphere"', 'family = "spere"', ["problem.family = 'spere'", "sphere"]),
    ('family = "sphere"', "", ["problem.family = None", "sphere"]),
    ('family = "sphere"', 'family = ["sphere", "ball"]', ["problem.family", "[[problem]]"]),
    ('label = "TS"', 'label = "ES"', ["policy[1].label = 'ES'", "of its own"]),
    (SIZE, "size = 4\nproblems = []", ["policy[0].problems = []"]),
    (SIZE, "size = 4\nproblems = ['ball']", ["policy[0].problems = 'ball'", "sphere"]),
    (SIZE, "sise = 4", ["policy[0].sise = 4", "size"]),
    (SIZE, "size = [1, 0]", ["policy[0].size = 0"]),
    (SIZE, "size = 3\nmember = { kind = 'RoundRobbin' }", ["policy[0].member.kind", "RoundRobin"]),
    (SIZE, "reward = { kind = 'Gaussian', scale = -1 }", ["policy[0].reward.scale = -1"]),
    (SIZE, "reward = { kind = 'Gaussian', width = 1 }", ["policy[0].reward.width = 1"]),
    (SIZE, 'theorem = "yes"', ["policy[0].theorem = 'yes'"]),
    (SIZE, "theorem = true\nsize = 3", ["policy[0].s"]),
    (f'{ES["recipe"]}"\n{SIZE}', 'EnsemblePlusPlus"', ["policy[0].size = None", "needs it"]),
    (POLICY_1, 'recipe = "Thomson"', ["policy[1].recipe = 'Thomson'", "ThompsonSampling"]),
    (
        f'{POLICY_1}\nscale = "noise"',
        f'{POLICY_1}\nscale = "2 noises"',
        ["policy[1].scale = '2 no"],
    ),
    ("[scales.paper]\nruns = 12", "[scales.paper]\nrums = 12", ["scales.paper.rums = 12"]),
    ("runs = 12", "rums = 12", ["scales.paper.rums = 12"]),
    ('name = "small"', 'name = "../x"', ["name = '../x'"]),
    ('name = "small"', "name = 3", ["name = 3"]),
    ('name = "small"', f'name = "{"é" * 101}"', ["name = ", "fit for a folder"]),
    ('name = "small"', r'name = "a\u001b[31m"', [r"name = 'a\x1b[31m'", "fit for a folder"]),
    ("[problem]", "problem = 3\n[other]", ["other"]),
]
FIGURE = 'published = [{ policy = "%s", problem = "sphere", dim = 2, value = 1%s }]'
BAD += [
    ("runs = 6", FIGURE % ("TS", ", measure = []"), ["measure = []"]),
    ("runs = 6", FIGURE % ("ES", ""), ["published", "fits 2"]),
]


@pytest.mark.parametrize(("before", "after", "said"), BAD)
def test_error_names_the_file_the_key_the_value_and_what_was_expected(
    before: str, after: str, said: list[str]
) -> None:
    assert before in TOML
    scale = "paper" if "scales" in before else ""
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(TOML.replace(before, after, 1), "mine.toml", scale)
    for part in said:
        assert part in str(caught.value)


def test_grid_that_is_too_large_is_counted_and_not_built() -> None:
    many = list(range(1, 1001))
    sizes = ES | {"size": many}
    said = r"small: cells = 1000000000: .* at most 1,000,000 cells; this one has 1,000,000,000"
    with pytest.raises(es.StudyError, match=said):
        small(horizon=many, problem={"family": "sphere", "dim": many}, policy=sizes)
    problem = {"family": "sphere", "dim": [*many, 1001]}
    with pytest.raises(es.StudyError, match=r"has 1,002,001$"):
        small(horizon=[*many, 1001], problem=problem, policy={"recipe": "Greedy"})


def test_policies_for_some_problems_are_counted_with_those() -> None:
    many = list(range(1, 101))
    only = {"problems": ["sphere"]}
    problems = [
        {"family": "sphere", "horizon": 5},
        {"family": "ball", "dim": many, "horizon": many},
    ]
    policies = [ES | {"size": many} | only, {"recipe": "Greedy"} | only]
    assert len(small(problem=problems, policy=policies).cells) == 101


def test_scale_that_is_wrong_or_missing_is_named() -> None:
    text = (
        'name = "x"\nhorizon = 1\nproblem = 3\npolicy = {}\n[scales.other]\nproblem = { dim = 2 }'
    )
    with pytest.raises(es.StudyError, match=r"problem = \[3\]"):
        es.Study.parse(text, scale="other")
    with pytest.raises(es.StudyError, match=r"scale = 'papper'.*paper"):
        es.Study.parse(TOML, scale="papper")


def test_theorem_that_does_not_apply_is_refused_before_anything_runs() -> None:
    with pytest.raises(es.StudyError, match=r"policy\.theorem = True.*finite"):
        small(problem={"family": "ball"}, policy=ES | {"theorem": True})
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
def test_other_objects_are_no_study(changes: dict[str, Any]) -> None:
    with pytest.raises(es.StudyError):
        small(**changes)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a system with /dev/zero")
@pytest.mark.parametrize("path", ["/dev/zero", "/tmp"])
def test_device_or_folder_is_no_file(path: str) -> None:
    with pytest.raises(es.StudyError, match="a TOML file one can read"):
        es.Study.read(path)


# Several mistakes at once

WRONG = """
rums = 6
runs = 0
seed = -1
checkpoints = "many"
evaluation = "lasy"
baseline = "UCB"
question = 3
horizon = [60, -1, 0]

[[problem]]
family = "sphere"
dim = [2, 0]
armz = 5
noise = { kind = "GaussianNois" }

[[problem]]
family = "spere"
label = "other"
dim = []

[[policy]]
label = "ES"
recipe = "EnsembleSampling"
size = [0, 4]
sise = 3
scale = "2 noises"
member = { kind = "RoundRobbin" }

[[policy]]
recipe = "Thomson"
problems = ["sphere", "bal"]

[[policy]]
label = "ES"
recipe = "LinUCB"
radius = -1.0

[[published]]
policy = "ES"
measure = "best"
standard_error = -1.0

[scales.paper]
rums = 12

[scales.huge]
problems = { dim = 3 }
"""
FOUND = [
    *("rums = 6", "scales.paper.rums = 12", "scales.huge.problems = {'dim': 3}", "name = None"),
    *("question = 3", "horizon = -1", "horizon = 0", "runs = 0", "checkpoints = 'many'"),
    *("seed = -1", "evaluation = 'lasy'", "problem[1].dim = []", "policy[2].label = 'ES'"),
    *("policy[1].problems = 'bal'", "baseline = 'UCB'", "problem[0].armz = 5"),
    *("problem[0].noise.kind = 'GaussianNois'", "problem[0].dim = 0"),
    *("problem[1].family = 'spere'", "policy[0].sise = 3", "policy[0].scale = '2 noises'"),
    *("policy[0].member.kind = 'RoundRobbin'", "policy[0].size = 0"),
    *("policy[1].recipe = 'Thomson'", "policy[2].radius = -1.0", "published.problem = None"),
    *("published.standard_error = -1.0", "published.measure = 'best'"),
]


def mistakes_in(text: str) -> list[str]:
    """Return the key and the value of each mistake."""
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(text, "mine.toml")
    return [f"{mistake.argument} = {mistake.value!r}" for mistake in caught.value.mistakes]


def test_every_mistake_of_a_file_is_in_one_error() -> None:
    assert sorted(mistakes_in(WRONG)) == sorted(FOUND)


def test_message_has_a_line_for_each_mistake() -> None:
    text = TOML.replace("runs = 6", "runs = 0").replace("size = [1, 4]", "sise = 4", 1)
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(text, "mine.toml")
    first, second, third = str(caught.value).splitlines()
    assert first == "mine.toml: 2 mistakes"
    assert second == "mine.toml: runs = 0: expected a whole number from 1 to 2147483647"
    field = "mine.toml: policy[0].sise = 4: expected a field of EnsembleSampling: one of size"
    assert third.startswith(field)
    assert (caught.value.argument, caught.value.value) == ("runs", 0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("key", ["name", "horizon", "problem", "policy"])
def test_missing_key_is_one_mistake(key: str) -> None:
    """What depends on it is not said to be wrong too."""
    figure = 'baseline = "TS"\n' + FIGURE % ("TS", "") + "\n"
    text = figure + TOML.replace("[scales.paper]", "[scales.none]")
    if key in ("name", "horizon"):
        lines = [line for line in text.splitlines() if not line.startswith(f"{key} =")]
        assert mistakes_in("\n".join(lines)) == [f"{key} = None"]
    else:
        tables = (f"[{key}]", f"[[{key}]]")
        blocks = [block for block in text.split("\n\n") if not block.startswith(tables)]
        assert mistakes_in("\n\n".join(blocks)) == [f"{key} = None"]


FIGURES = [{"policy": "TS", "problem": "sphere", "value": "x", "measure": 3}, 4]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"policy": [ES | {"size": 0}, POLICIES[1]], "baseline": "TS"}, ["policy[0].size"]),
        ({"problem": {"family": "ball"}, "policy": ES | {"theorem": True}}, ["policy.theorem"]),
        ({"problem": [SPHERE, 3]}, ["problem"]),
        (
            {"problem": {**SPHERE, "dim": 0}, "policy": [{**POLICIES[0], "size": 0}]},
            ["problem.dim", "policy[0].size"],
        ),
        (
            {"problem": {"family": 3}, "policy": [{**POLICIES[0], "problems": ["x"]}]},
            ["problem.family"],
        ),
        ({"problem": {**SPHERE, "horizon": 0}}, ["problem.horizon"]),
        (
            {"horizon": 0, "problem": [SPHERE, {"family": "ball", "horizon": -3}]},
            ["horizon", "problem[1].horizon"],
        ),
        (
            {"policy": [{**POLICIES[0], "scale": b"x"}, {**POLICIES[1], "scale": -1}]},
            ["policy[0].scale", "policy[1].scale"],
        ),
        ({"policy": {"recipe": "Greedy", 3: 4}, "runs": 0}, ["runs", "policy.3"]),
        ({"problem": {**SPHERE, "dim": [2, 2]}, "policy": POLICIES[1]}, ["cell"]),
        ({"name": None, "horizon": None}, ["name", "horizon"]),
        ({"published": FIGURES}, ["published"]),
        ({"published": [FIGURES[0] | {"value": 1, "measure": "regret"}], "runs": 0}, ["runs"]),
        (
            {"policy": [{**POLICIES[0], "problems": "sphere", "label": ""}]},
            ["policy[0].label", "policy[0].problems"],
        ),
    ],
)
def test_no_mistake_follows_from_another(changes: dict[str, Any], found: list[str]) -> None:
    with pytest.raises(es.StudyError) as caught:
        small(**changes)
    assert [mistake.argument for mistake in caught.value.mistakes] == found


MODELS = "one of Linear, Logistic, Neural, TorchModel"
LAWS = "one of CenteredBinomial, Gaussian, Rademacher, Uniform"
RULES = "one of OptimisticMember, RoundRobin, StickyMember, UniformMember"
LACKS = "expected the kind of this table, such as kind ="


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"model": "Logistik"},
            f"model = 'Logistik': expected {MODELS} (did you mean 'Logistic'?)",
        ),
        (
            {"model": {"kind": "logistic"}},
            f"model.kind = 'logistic': expected {MODELS} (did you mean 'Logistic'?)",
        ),
        ({"model": {"fit": "exact"}}, f'model.kind = None: {LACKS} "Logistic": {MODELS}'),
        (
            {"member": {"rounds": 3, "colour": 4}},
            f'member.kind = None: {LACKS} "OptimisticMember": {RULES}',
        ),
        ({"reward": "Gausian"}, f"reward = 'Gausian': expected {LAWS} (did you mean 'Gaussian'?)"),
        ({"scale": "Gaussians"}, "scale = 'Gaussians': expected a number, or one of noise, radius"),
        (
            {"theorem": True, "perturbation": "Uniforn"},
            f"perturbation = 'Uniforn': expected {LAWS} (did you mean 'Uniform'?)",
        ),
    ],
)
def test_error_of_an_unknown_name_lists_those_of_its_kind(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(es.StudyError) as caught:
        small(policy=ES | options)
    assert str(caught.value) == f"small: policy.{said}"


def test_noise_may_be_a_number_too() -> None:
    said = r"problem\.noise = 'Student': expected a number, or one of BernoulliNoise, .*"
    with pytest.raises(es.StudyError, match=said):
        small(problem={**SPHERE, "noise": "Student"})


@pytest.mark.parametrize(
    ("policy", "argument"), [(ES | {"theorem": True}, "theorem"), ({"recipe": "SupLinUCB"}, "arms")]
)
def test_error_of_a_policy_that_does_not_go_with_a_problem_names_both(
    policy: dict[str, Any], argument: str
) -> None:
    problems = [{**SPHERE, "arms": 9}, {"family": "ball", "label": "round"}]
    with pytest.raises(
        es.StudyError, match=rf"^small: policy\.{argument} = [^\n]* \(on 'round'\)$"
    ):
        small(problem=problems, policy=policy)


def test_mistake_in_many_cells_is_one() -> None:
    problem = {"family": "sphere", "dim": list(range(2, 102))}
    with pytest.raises(es.StudyError, match=r"^small: policy\.scale = -1: [^\n]*$"):
        small(problem=problem, policy={"recipe": "ThompsonSampling", "scale": -1})


def test_many_mistakes_are_counted() -> None:
    policies = [{"recipe": "Greedy", "label": f"{place}", "colour": place} for place in range(100)]
    with pytest.raises(es.StudyError) as caught:
        small(policy=policies)
    assert len(caught.value.mistakes) == 100
    lines = str(caught.value).splitlines()
    assert len(lines) == SHOWN + 2 and lines[-1] == "... and 60 more"
    mistakes = Mistakes("mine.toml")
    for place in range(MOST + 50):
        mistakes.add("x", place, "something else")
    assert len(mistakes) == MOST


def test_every_option_is_tried() -> None:
    def build(table: dict[str, Any]) -> None:
        for key in ("a", "b"):
            if key not in table:
                raise InvalidArgument(key, None, "to be given")
        for key in ("a", "b", "c"):
            if table.get(key, 1) == 0:
                raise InvalidArgument(f"{key}.inner", 0, "another")

    def found(**table: int) -> list[str]:
        return [str(error) for error in errors_in_options(build, table, "vital")]

    wrong = {key: f"{key}.inner = 0: expected another" for key in "abc"}
    assert found(a=1, b=1) == []
    assert found(b=0, c=0) == ["a = None: expected to be given", wrong["b"], wrong["c"]]
    assert found(a=0, b=0, c=0) == list(wrong.values())


def test_option_that_cannot_be_put_right_ends_the_search() -> None:
    def never(table: dict[str, Any]) -> None:
        raise InvalidArgument("x", table.get("x"), "what nobody has")

    assert len(list(errors_in_options(never, {"x": 3}, "vital"))) == 1
    assert len(list(errors_in_options(never, {}, "x"))) == 1
