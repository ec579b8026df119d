"""Descriptions from anybody: an object of ours, or an error of ours. The forms are in golden/."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
from ensample.codec import RECIPES, describe, from_json, rebuild

KINDS = ["Columns", "Disjoint", "EnsembleSampling", "Greedy", "Logistic", "Sphere", "Study", "os:x"]
FIELDS = ["context", "kind", "model", "most", "names", "own", "scale", "size"]
SCALARS = st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.sampled_from(KINDS)
DESCRIPTIONS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3)
        | st.builds(lambda kind, rest: rest | {"kind": kind}, st.sampled_from(KINDS), st.just({}))
    ),
)


@given(DESCRIPTIONS)
def test_any_description_is_an_object_or_an_error_of_ours(description: Any) -> None:
    for read in (rebuild, lambda value: from_json("recipe", value, (*RECIPES, "Encoder"))):
        try:
            read(description)
        except (es.SnapshotError, es.InvalidArgument) as error:
            assert str(error)


@dataclass(frozen=True)
class Own(es.Greedy):
    extra: float = 0.5


def test_class_of_ones_own_is_found_where_its_module_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("somewhere")
    monkeypatch.setattr(Own, "__module__", "somewhere")
    module.Own = Own  # type: ignore[attr-defined]
    description = describe(Own(2.0, extra=0.25))
    assert description["kind"] == "somewhere:Own" and description["extra"] == 0.25
    with pytest.raises(es.SnapshotError, match="import somewhere first if you trust the file"):
        rebuild(description)
    monkeypatch.setitem(sys.modules, "somewhere", module)
    assert rebuild(description) == Own(2.0, extra=0.25)
    with pytest.raises(es.InvalidArgument, match=r"recipe\.kind = 'somewhere:Own'"):
        from_json("recipe", description, RECIPES)


def test_function_is_described_and_not_rebuilt() -> None:
    description = describe(es.EnsembleSampling(3, member=max))  # type: ignore[arg-type]
    assert description["member"] == {"own": "builtins:max"}
    with pytest.raises(es.SnapshotError, match=r"recipe\.member: 'builtins:max' cannot be stored"):
        rebuild(description)
