"""Recipes from the command line's text: what is understood, what is refused, and that nothing is evaluated."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
from ensample.cli.policies import RECIPES, contender, split

SETTING = es.Setting(dim=5, arms=20, horizon=1000, noise=0.25, norm=1)
RADIUS = es.theory.radius(SETTING)

UNDERSTOOD = {
    "es-37": es.EnsembleSampling(37, 0.25),
    "EnsembleSampling(20)": es.EnsembleSampling(20),
    "EnsembleSampling( size = 20, scale=2 )": es.EnsembleSampling(20, 2.0),
    "EnsembleSampling(size=20, scale=2*noise)": es.EnsembleSampling(20, 0.5),
    "EnsembleSampling(20, member=OptimisticMember())": es.EnsembleSampling(
        20, member=es.OptimisticMember()
    ),
    "EnsembleSampling(20, member=OptimisticMember)": es.EnsembleSampling(
        20, member=es.OptimisticMember()
    ),
    "EnsembleSampling(20, member=StickyMember(rounds=3))": es.EnsembleSampling(
        20, member=es.StickyMember(3)
    ),
    "EnsembleSampling(3, initial=Sphere(radius), reward=Uniform(scale=0.5*radius))": es.EnsembleSampling(
        3, initial=es.Sphere(RADIUS), reward=es.Uniform(0.5 * RADIUS)
    ),
    "EnsembleSampling(3, initial=None)": es.EnsembleSampling(3),
    "EnsembleSampling.from_theorem": es.EnsembleSampling.from_theorem(SETTING),
    "EnsembleSampling.from_theorem(member=OptimisticMember())": es.EnsembleSampling.from_theorem(
        SETTING, member=es.OptimisticMember()
    ),
    "LinUCB": es.LinUCB(),
    "LinUCB()": es.LinUCB(),
    "LinUCB(radius=radius, form='constant')": es.LinUCB(RADIUS),
    "LinUCB.from_theorem": es.LinUCB.from_theorem(SETTING),
    "LinUCB(radius, 1, constant)": es.LinUCB(RADIUS, 1.0),
    "EnsembleSampling(scale=auto, model=Logistic(fit=exact))": es.EnsembleSampling(
        model=es.Logistic(fit="exact")
    ),
    "EnsembleSampling(3, model=Neural((8,), tanh, loss=logistic))": es.EnsembleSampling(
        3, model=es.Neural((8,), "tanh", loss="logistic")
    ),
    "ThompsonSampling(adaptive=True)": es.ThompsonSampling(adaptive=True),
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_understood(text: str) -> None:
    assert contender(text).recipe(SETTING) == UNDERSTOOD[text]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_its_name(name: str) -> None:
    fields = "size=7" if "size" in RECIPES[name].__dataclass_fields__ else ""
    assert type(contender(f"{name}({fields})").recipe(SETTING)) is getattr(es, name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("es-37x", "policy = 'es-37x': expected one of auto, es-10"),
        ("es--3", "policy = 'es--3': expected one of auto, es-10"),
        ("es-0", "es-0: size = 0: expected a whole number from 1"),
        (
            "es-99999999999999999999",
            "es-99999999999999999999: size = 99999999999999999999: expected",
        ),
        ("Recipe", "policy = 'Recipe': expected one of"),
        ("RefreshedEnsembleSampling", "size = None: expected to be given"),
        ("EnsembleSampling(1, 2, 3, 4, 5, 6, 7)", "expected at most 6 arguments without a name"),
        ("EnsembelSampling(3)", "did you mean 'EnsembleSampling'?"),
        (
            "EnsembleSampling(sise=3)",
            "EnsembleSampling(sise=3): sise = 3: expected a field of EnsembleSampling: one of size",
        ),
        (
            "EnsembleSampling(size='3')",
            "EnsembleSampling(size='3'): size = '3' (str): expected a whole number",
        ),
        (
            "EnsembleSampling(model=Logistic(fit=exakt))",
            "fit = 'exakt': expected one of 'stream', 'exact'",
        ),
        (
            "EnsembleSampling(scale=autos)",
            "scale = 'autos': expected a number, or one of noise, radius",
        ),
        (
            "EnsembleSampling(3, model=Logistic(fitt=exact))",
            "fitt = 'exact': expected a field of Logistic: one of fit (did you mean",
        ),
        ("EnsembleSampling(3, model=exact)", "model = 'exact': expected one of Linear, Logistic"),
        ("own:Mine(seven)", "own:Mine(seven): size = 'seven': expected a number, or one of noise"),
        (
            "EnsembleSampling(3, member=Optimist())",
            "member = 'Optimist()': expected .*did you mean 'OptimisticMember'?",
        ),
        ("EnsembleSampling(3, member=StickyMember(0))", "rounds = 0: expected a whole number"),
        ("EnsembleSampling(3, member=StickyMember)", "member.rounds = None: expected to be given"),
        (
            "EnsembleSampling(3, reward=Gaussian(sigma=1))",
            "sigma = 1: expected a field of Gaussian: one of scale",
        ),
        ("EnsembleSampling(size=noize)", "did you mean 'noise'?"),
        ("EnsembleSampling(3, scale=2*Gaussian())", "scale = 'Gaussian()': expected a number"),
        ("EnsembleSampling(3, scale=-True)", "scale = 'True': expected a number"),
        ("EnsembleSampling(3, scale=10**9)", "scale = '10 ** 9': expected a number, or one of"),
        ("EnsembleSampling(3, scale=1j)", "scale = '1j': expected a number"),
        ("EnsembleSampling(3, *[1])", "scale = '*[1]': expected"),
        ("EnsembleSampling(3, **{})", r"field = '**{}': expected name=value"),
        ("EnsembleSampling(3)(4)", "expected a recipe such as"),
        ("EnsembleSampling(3", "was never closed"),
        ("EnsembleSampling(3, size=4)", "field = 'size=4': expected name=value, each name once"),
        (
            "EnsembleSampling(size=3, size=4)",
            "field = 'size=4': expected name=value, each name once",
        ),
        ("Greedy.start", "expected Greedy or Greedy.from_theorem"),
        ("Greedy.__init__", "expected Greedy or Greedy.from_theorem"),
        ("Greedy.from_theorem", "no theorem here prescribes"),
        ("(lambda: 1)()", "expected a recipe such as"),
        ("[x for x in '(']", "expected a recipe such as"),
        ("Greedy(\0)", "expected characters that can be shown"),
        ("es-\x1b[31m", r"policy = 'es-\x1b[31m': expected characters that can be shown"),
        ("Greedy(" + "-" * 1900 + "1)", "less deeply nested"),
        ("Greedy(" + "(" * 900 + ")" * 900 + ")", "expected a recipe such as"),
        ("Greedy(" + "1," * 5000 + ")", "expected a recipe such as"),
        (":Greedy", "expected a recipe such as"),
        ("own-module:Mine", "expected a recipe such as"),
        ("no_such_module:Mine", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("own:", "expected a recipe such as"),
        ("own:Min", "expected a name that is there: one of es, whole, Mine"),
        ("own:number", "expected a recipe or its class, and number is 3"),
        ("own:ready(3)", "expected a recipe or its class"),
        ("own:Mine(sise=3)", "own:Mine(sise=3): sise = 3: expected a field of Mine: one of size"),
        ("own:Mine(size=0)", "own:Mine(size=0): size = 0: expected a whole number >= 1"),
        ("own:Mine(size=13)", "RuntimeError: unlucky"),
        ("own:function", "expected a recipe, and this makes 'no recipe'"),
        (
            "broken:Mine",
            "expected a module that can be imported (ZeroDivisionError: division by zero)",
        ),
    ],
)
def test_refused(text: str, said: str, modules: Path) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        contender(text).recipe(SETTING)
    before, _, after = said.partition(".*")
    assert before in str(caught.value) and after in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


OWN = """
import ensample as es
from ensample.checks import whole

class Mine(es.Greedy):
    def __init__(self, size=3):
        super().__init__()
        object.__setattr__(self, "size", whole("size", size, 1))
        if size == 13:
            raise RuntimeError("unlucky")

    @classmethod
    def from_theorem(cls, setting, times=1):
        return cls(times * setting.arms)

class Holder:
    Inner = Mine

ready = Mine(7)
number = 3

def function():
    return "no recipe"
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Modules in the folder that the command is run in, which is not on the path."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("own", "broken"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("own:Mine", 3),
        ("own:Mine(size=5)", 5),
        ("own:Mine(5)", 5),
        ("own:ready", 7),
        ("own:Holder.Inner(size=2)", 2),
        ("own:Mine.from_theorem", 20),
        ("own:Mine.from_theorem(times=2)", 40),
    ],
)
def test_recipes_of_ones_own(text: str, size: int, modules: Path) -> None:
    entry = contender(text)
    assert entry.label == text and entry.recipe(SETTING).size == size


def test_nothing_is_evaluated(modules: Path) -> None:
    call = "__import__('pathlib').Path('evil').touch()"
    for text in (
        call,
        f"Greedy({call})",
        f"EnsembleSampling(size={call})",
        f"own:Mine(size=[{call}][0])",
        f"own:{call}",
    ):
        with pytest.raises(es.InvalidArgument):
            contender(text).recipe(SETTING)
    assert sorted(path.name for path in modules.glob("*.*")) == ["broken.py", "own.py"]


PIECES = st.sampled_from(
    [
        *"()[]{},.:=*-'\" \n\x00é",
        *RECIPES,
        "es-",
        "size",
        "noise",
        "Gaussian",
        "3",
        "1e999",
        "None",
        "os",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_a_recipe_or_an_error_of_ours(text: str) -> None:
    for policy in split(text):
        try:
            assert isinstance(contender(policy).recipe(SETTING), es.Recipe)
        except es.InvalidArgument as error:
            assert "\x00" not in str(error)


def test_commas_between_brackets_belong_to_a_recipe() -> None:
    typed = "es-10 ,A(1, 2),B(c=[3, (4, 5)], d='x,)y') , ,es-10, C"
    assert split(typed) == ["es-10", "A(1, 2)", "B(c=[3, (4, 5)], d='x,)y')", "C"]
    assert split("a),b") == ["a)", "b"] and split(" , ") == []
