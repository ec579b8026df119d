"""All mistakes of a study are said at once, and nothing that is no mistake."""

import pickle
from typing import Any

import pytest

import ensample as es
from ensample.codec import ANYTHING, argument_type
from ensample.errors import SHOWN, InvalidArgument
from ensample.lab.mistakes import MOST, Mistakes, errors_in_options
from lab.studies import POLICIES, SPHERE, TOML, small


def mistakes_in(text: str, scale: str = "") -> list[str]:
    """The key and the value of each."""
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(text, "mine.toml", scale)
    return [f"{mistake.argument} = {mistake.value!r}" for mistake in caught.value.mistakes]


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
    "rums = 6",
    "scales.paper.rums = 12",
    "scales.huge.problems = {'dim': 3}",
    "name = None",
    "question = 3",
    "horizon = -1",
    "horizon = 0",
    "runs = 0",
    "checkpoints = 'many'",
    "seed = -1",
    "evaluation = 'lasy'",
    "problem[1].dim = []",
    "policy[2].label = 'ES'",
    "policy[1].problems = 'bal'",
    "baseline = 'UCB'",
    "problem[0].armz = 5",
    "problem[0].noise.kind = 'GaussianNois'",
    "problem[0].dim = 0",
    "problem[1].family = 'spere'",
    "policy[0].sise = 3",
    "policy[0].scale = '2 noises'",
    "policy[0].member.kind = 'RoundRobbin'",
    "policy[0].size = 0",
    "policy[1].recipe = 'Thomson'",
    "policy[2].radius = -1.0",
    "published.problem = None",
    "published.standard_error = -1.0",
    "published.measure = 'best'",
]


def test_every_mistake_of_a_file_is_said_at_once() -> None:
    assert sorted(mistakes_in(WRONG)) == sorted(FOUND)


def test_the_message_has_a_line_for_each_with_file_key_value_and_what_was_expected() -> None:
    text = TOML.replace("runs = 6", "runs = 0").replace("size = [1, 4]", "sise = 4", 1)
    with pytest.raises(es.StudyError) as caught:
        es.Study.parse(text, "mine.toml")
    first, second, *rest = str(caught.value).splitlines()
    assert first == "mine.toml: 2 mistakes"
    assert second == "mine.toml: runs = 0: expected a whole number from 1 to 2147483647"
    assert len(rest) == 1 and rest[0].startswith(
        "mine.toml: policy[0].sise = 4: expected a field of EnsembleSampling: one of size"
    )
    assert (caught.value.argument, caught.value.value) == ("runs", 0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("key", ["name", "horizon", "problem", "policy"])
def test_one_mistake_is_one_line(key: str) -> None:
    """What depends on what is missing is not said to be wrong too."""
    published = '\nbaseline = "TS"\npublished = [{ policy = "TS", problem = "sphere", dim = 2, value = 1 }]\n'
    lines = (published + TOML.replace("[scales.paper]", "[scales.none]")).splitlines()
    if key in ("name", "horizon"):
        text = "\n".join(line for line in lines if not line.startswith(f"{key} ="))
    else:
        blocks = "\n".join(lines).split("\n\n")
        text = "\n\n".join(
            block for block in blocks if not block.startswith((f"[{key}]", f"[[{key}]]"))
        )
    assert mistakes_in(text) == [f"{key} = None"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            {"policy": [{"recipe": "EnsembleSampling", "size": 0}, POLICIES[1]], "baseline": "TS"},
            ["policy[0].size"],
        ),
        (
            {
                "problem": {"family": "ball"},
                "policy": {"recipe": "EnsembleSampling", "theorem": True},
            },
            ["policy.theorem"],
        ),
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
        ({"problem": {**SPHERE, "dim": [2, 2], "arms": 5}, "policy": POLICIES[1]}, ["cell"]),
        ({"name": None, "horizon": None}, ["name", "horizon"]),
        (
            {"published": [{"policy": "TS", "problem": "sphere", "value": "x", "measure": 3}, 4]},
            ["published"],
        ),
        (
            {"published": [{"policy": "TS", "problem": "sphere", "value": 1}] * 2, "runs": 0},
            ["runs"],
        ),
        (
            {"policy": [{**POLICIES[0], "problems": "sphere", "label": ""}]},
            ["policy[0].label", "policy[0].problems"],
        ),
    ],
)
def test_no_mistake_is_made_up(changes: dict[str, Any], found: list[str]) -> None:
    with pytest.raises(es.StudyError) as caught:
        small(**changes)
    assert [mistake.argument for mistake in caught.value.mistakes] == found


MODELS = "one of Linear, Logistic, Neural, TorchModel"
LAWS = "one of CenteredBinomial, Gaussian, Rademacher, Uniform"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"model": "Logistik"},
            f"policy.model = 'Logistik': expected {MODELS} (did you mean 'Logistic'?)",
        ),
        (
            {"model": {"kind": "logistic"}},
            f"policy.model.kind = 'logistic': expected {MODELS} (did you mean 'Logistic'?)",
        ),
        (
            {"model": {"fit": "exact"}},
            f'policy.model.kind = None: expected the kind of this table, such as kind = "Logistic": {MODELS}',
        ),
        (
            {"member": {"rounds": 3, "colour": 4}},
            'policy.member.kind = None: expected the kind of this table, such as kind = "OptimisticMember": '
            "one of OptimisticMember, RoundRobin, StickyMember, UniformMember",
        ),
        (
            {"reward": "Gausian"},
            f"policy.reward = 'Gausian': expected {LAWS} (did you mean 'Gaussian'?)",
        ),
        (
            {"scale": "Gaussians"},
            "policy.scale = 'Gaussians': expected a number, or one of noise, radius",
        ),
        (
            {"theorem": True, "perturbation": "Uniforn"},
            f"policy.perturbation = 'Uniforn': expected {LAWS} (did you mean 'Uniform'?)",
        ),
    ],
)
def test_a_name_that_is_not_known_is_told_those_of_its_kind(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(es.StudyError) as caught:
        small(policy={"recipe": "EnsembleSampling", **options})
    assert str(caught.value) == f"small: {said}"


def test_a_noise_may_be_a_number_too() -> None:
    with pytest.raises(
        es.StudyError,
        match=r"problem\.noise = 'Student': expected a number, or one of BernoulliNoise, .*",
    ):
        small(problem={**SPHERE, "noise": "Student"})


def test_what_somebody_elses_types_say_is_not_needed() -> None:
    class Own(es.Perturbation):
        pass

    def build(law: Own, other: "NoSuchName") -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    def plain(law: Own, initial: es.Gaussian | Own) -> None:
        pass

    assert argument_type(build, "law") == argument_type(plain, "x") == ANYTHING
    assert argument_type(plain, "law") == ({}, False, ())
    assert list(argument_type(plain, "initial").classes) == ["Gaussian"]


@pytest.mark.parametrize(
    ("policy", "argument"),
    [
        ({"recipe": "EnsembleSampling", "theorem": True}, "theorem"),
        ({"recipe": "SupLinUCB"}, "arms"),
    ],
)
def test_a_policy_that_does_not_go_with_a_problem_is_told_which(
    policy: dict[str, Any], argument: str
) -> None:
    with pytest.raises(
        es.StudyError, match=rf"^small: policy\.{argument} = [^\n]* \(on 'round'\)$"
    ):
        small(problem=[{**SPHERE, "arms": 9}, {"family": "ball", "label": "round"}], policy=policy)


def test_a_mistake_in_many_cells_is_one() -> None:
    many = list(range(2, 102))
    with pytest.raises(es.StudyError, match=r"^small: policy\.scale = -1: [^\n]*$"):
        small(
            problem={"family": "sphere", "dim": many},
            policy={"recipe": "ThompsonSampling", "scale": -1},
        )


def test_many_mistakes_are_counted() -> None:
    with pytest.raises(es.StudyError) as caught:
        small(
            policy=[
                {"recipe": "Greedy", "label": f"{place}", "colour": place} for place in range(100)
            ]
        )
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

    assert found(a=1, b=1) == []
    assert found(b=0, c=0) == [
        "a = None: expected to be given",
        "b.inner = 0: expected another",
        "c.inner = 0: expected another",
    ]
    assert found(a=0, b=0, c=0) == [f"{key}.inner = 0: expected another" for key in "abc"]


def test_what_cannot_be_put_right_ends_the_search() -> None:
    def never(table: dict[str, Any]) -> None:
        raise InvalidArgument("x", table.get("x"), "what nobody has")

    assert len(list(errors_in_options(never, {"x": 3}, "vital"))) == 1
    assert len(list(errors_in_options(never, {}, "x"))) == 1
