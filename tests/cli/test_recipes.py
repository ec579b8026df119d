"""Recipes as one types them: which are refused, and that nothing is evaluated. See golden/ too."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
from ensample.cli.policies import RECIPES, contender, split

SETTING = es.Setting(dim=5, arms=20, horizon=1000, noise=0.25, norm=1)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_its_name(name: str) -> None:
    fields = "size=7" if "size" in RECIPES[name].__dataclass_fields__ else ""
    assert type(contender(f"{name}({fields})").recipe(SETTING)) is getattr(es, name)


ES = "EnsembleSampling"
REFUSED = {
    "es-37x": "policy = 'es-37x': expected one of auto, es-10",
    "es-0": "size = 0: expected a whole number from 1",
    "Recipe": "policy = 'Recipe': expected one of",
    "RefreshedEnsembleSampling": "size = None: expected to be given",
    f"{ES}(1, 2, 3, 4, 5, 6, 7)": "expected at most 6 arguments without a name",
    "EnsembelSampling(3)": "did you mean 'EnsembleSampling'?",
    f"{ES}(sise=3)": f"{ES}(sise=3): sise = 3: expected a field of {ES}: one of size",
    f"{ES}(size='3')": f"{ES}(size='3'): size = '3' (str): expected a number, or one of",
    f"{ES}(model=Logistic(fit=exakt))": "model.fit = 'exakt': expected one of 'stream', 'exact'",
    f"{ES}(scale=autos)": "scale = 'autos' (str): expected a number, or one of noise, radius",
    f"{ES}(3, model=Logistic(fitt=exact))": "model.fitt = 'exact': expected a field of Logistic",
    f"{ES}(3, model=exact)": "model = 'exact' (str): expected one of Linear, Logistic",
    "own:Mine(seven)": "own:Mine(seven): size = 'seven' (str): expected a number, or one of noise",
    f"{ES}(3, member=Optimist())": "did you mean 'OptimisticMember'?",
    f"{ES}(3, member=StickyMember(0))": "member.rounds = 0: expected a whole number",
    f"{ES}(3, member=StickyMember)": "member.rounds = None: expected to be given",
    f"{ES}(3, reward=Gaussian(sigma=1))": "reward.sigma = 1: expected a field of Gaussian",
    f"{ES}(size=noize)": "did you mean 'noise'?",
    f"{ES}(3, scale=2*Gaussian())": "scale = 'Gaussian()': expected a number",
    f"{ES}(3, scale=-True)": "scale = 'True': expected a number",
    f"{ES}(3, scale=10**9)": "scale = '10 ** 9': expected a number, or one of",
    f"{ES}(3, scale=1j)": "scale = '1j': expected a number",
    f"{ES}(3, *[1])": "scale = '*[1]': expected",
    f"{ES}(3, **{{}})": "field = '**{}': expected name=value",
    f"{ES}(3)(4)": "expected a recipe such as",
    f"{ES}(3": "was never closed",
    f"{ES}(3, size=4)": "size = 4: expected one value: it is given by its place too",
    "Greedy.start": "expected Greedy or Greedy.from_theorem",
    "Greedy.from_theorem": "no theorem here prescribes",
    "(lambda: 1)()": "expected a recipe such as",
    "[x for x in '(']": "expected a recipe such as",
    "es-\x1b[31m": r"policy = 'es-\x1b[31m': expected characters that can be shown",
    "Greedy(" + "-" * 1900 + "1)": "less deeply nested",
    "Greedy(" + "(" * 900 + ")" * 900 + ")": "expected a recipe such as",
    "Greedy(" + "1," * 5000 + ")": "expected a recipe such as",
    "own-module:Mine": "expected a recipe such as",
    "no_such_module:Mine": "ModuleNotFoundError: No module named 'no_such_module'",
    "own:": "expected a recipe such as",
    "own:Min": "expected a name that is there: one of es, whole, Mine",
    "own:number": "expected a recipe or its class, and number is 3",
    "own:ready(3)": "expected a recipe or its class",
    "own:Mine(size=0)": "own:Mine(size=0): size = 0: expected a whole number >= 1",
    "own:Mine(size=13)": "RuntimeError: unlucky",
    "own:function": "expected a recipe, and this makes 'no recipe'",
    "broken:Mine": "a module that can be imported (ZeroDivisionError: division by zero)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_is_no_recipe_is_refused_in_one_line(text: str, modules: Path) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        contender(text).recipe(SETTING)
    assert REFUSED[text] in str(caught.value) and len(str(caught.value).splitlines()) == 1


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


def test_recipes_of_ones_own_are_imported(modules: Path) -> None:
    for text, size in {
        "own:Mine": 3,
        "own:Mine(size=5)": 5,
        "own:Mine(5)": 5,
        "own:ready": 7,
        "own:Holder.Inner(size=2)": 2,
        "own:Mine.from_theorem": 20,
        "own:Mine.from_theorem(times=2)": 40,
    }.items():
        entry = contender(text)
        assert entry.label == text and entry.recipe(SETTING).size == size


def test_nothing_is_evaluated(modules: Path) -> None:
    call = "__import__('pathlib').Path('evil').touch()"
    for form in ("{}", "Greedy({})", f"{ES}(size={{}})", "own:Mine(size=[{}][0])", "own:{}"):
        with pytest.raises(es.InvalidArgument):
            contender(form.format(call)).recipe(SETTING)
    assert sorted(path.name for path in modules.glob("*.*")) == ["broken.py", "own.py"]


SIGNS = [*"()[]{},.:=*-'\" \n\x00é", "es-", "size", "noise", "Gaussian", "3", "1e999", "None", "os"]


@given(st.lists(st.sampled_from([*SIGNS, *RECIPES]), max_size=12).map("".join))
def test_any_text_is_a_recipe_or_an_error_of_ours(text: str) -> None:
    for policy in split(text):
        try:
            assert isinstance(contender(policy).recipe(SETTING), es.Recipe)
        except es.InvalidArgument as error:
            assert "\x00" not in str(error)


def test_commas_within_brackets_belong_to_a_recipe() -> None:
    typed = "es-10 ,A(1, 2),B(c=[3, (4, 5)], d='x,)y') , ,es-10, C"
    assert split(typed) == ["es-10", "A(1, 2)", "B(c=[3, (4, 5)], d='x,)y')", "C"]
    assert split("a),b") == ["a)", "b"] and split(" , ") == []
