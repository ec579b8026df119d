"""Every claim holds at quick scale, and every broken twin is refuted by the same check."""

import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import documented
from ensample.claims import (
    CLAIMS,
    Claim,
    Scale,
    Section,
    Verdict,
    find,
    statements,
    total_cost,
    verify,
)
from ensample.claims.claim import SOUND, Judge
from ensample.claims.power import is_sharp, power
from ensample.claims.texts import CHECKED, TEXTS, place
from ensample.errors import InvalidArgument, WrongType
from ensample.report.paper import Finding
from golden.claims import STORED, record

SEEDS = (0, 1)
GOLDEN = json.loads(STORED.read_text())

every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)


class Work(NamedTuple):
    """What a claim does, once for all that is asked of it."""

    claim: Claim
    seed: int
    judge: Judge


@pytest.fixture(
    scope="module",
    params=[(claim, seed) for claim in CLAIMS for seed in SEEDS],
    ids=lambda work: f"{work[0].id}-{work[1]}",
)
def work(request: pytest.FixtureRequest) -> Work:
    """Of the whole module: so what is asked of a claim is asked in a row, by one process."""
    claim, seed = request.param
    return Work(claim, seed, claim.measure(Scale.QUICK, seed))


def test_it_holds(work: Work) -> None:
    claim, seed, judge = work
    outcome = judge(SOUND)
    assert outcome.verdict is Verdict.HOLDS, outcome
    assert outcome.sample > 0 and outcome.relation in ("<=", ">=", "=") and outcome.decides is None
    assert all(math.isfinite(value) for value in (outcome.measured, outcome.bound, outcome.margin))
    if outcome.figure is not None:
        for curve in outcome.figure.curves:
            assert len(curve.x) == len(curve.y) > 1, curve.label
    if seed == documented.SEED:
        first = claim.faults[0]
        found = (power(judge, first.largest), *(None for _ in claim.faults[1:]))
        documented.says_what_was_found(
            Finding(claim, outcome, outcome, 0.0, is_sharp(judge), found)
        )


def test_it_finds_what_is_stored(work: Work) -> None:
    """Texts, faults, broken twin and figure are those of claims.json."""
    claim, seed, judge = work
    if seed == 0:
        found = json.loads(json.dumps(record(claim, judge)))
        assert equal(found, next(one for one in GOLDEN if one["texts"]["claim"] == claim.id))


def equal(found: Any, stored: Any) -> bool:
    """Whether two JSON values are equal, numbers to 1e-9: sums of BLAS differ between machines."""
    if isinstance(stored, float):
        return found == pytest.approx(stored, rel=1e-9, abs=1e-9, nan_ok=True)
    if isinstance(stored, dict):
        return found.keys() == stored.keys() and all(
            equal(found[key], stored[key]) for key in stored
        )
    if isinstance(stored, list):
        return len(found) == len(stored) and all(map(equal, found, stored))
    return bool(found == stored)


def test_its_broken_twin_is_refuted(work: Work) -> None:
    claim, seed, judge = work
    outcome = claim.check_broken(Scale.QUICK, seed, judge)
    assert outcome.verdict is Verdict.REFUTED, outcome
    assert outcome.margin < 0
    if seed == documented.SEED:
        documented.says_what_became_of_the_twin(claim, outcome)


@every_claim
def test_faults_have_a_size(claim: Claim) -> None:
    for fault in claim.faults:
        assert len(re.findall(r"\bf\b", fault.description)) == 1, "it says what f does, once"
        assert fault.largest > 1.0


@every_claim
def test_it_is_described(claim: Claim) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", claim.id)
    assert claim.title
    assert claim.latex
    assert claim.reference
    assert claim.assumptions
    assert claim.broken.description
    assert "\n" not in claim.statement and len(claim.statement) <= 120, len(claim.statement)
    assert place(claim.reference) or ":" not in claim.reference, "a label of the paper has a number"
    assert set(claim.costs) == set(Scale)
    quick, standard, paper = (claim.costs[scale].seconds for scale in Scale)
    assert 0 < quick <= standard <= paper


def test_ids_are_unique_and_sections_in_order() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    places = [list(Section).index(claim.section) for claim in CLAIMS]
    assert places == sorted(places)


def test_the_budgets_of_time() -> None:
    """By the stated costs: quick under a minute, standard under a quarter of an hour."""
    assert total_cost(CLAIMS, Scale.QUICK).seconds < 60
    assert total_cost(CLAIMS, Scale.STANDARD).seconds < 15 * 60


def test_every_statement_has_checks() -> None:
    files = {path.stem for path in Path(statements.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(statements.__all__)
    assert set(CHECKED) == set(TEXTS)


def test_an_outcome_is_a_function_of_scale_and_seed() -> None:
    """Neither the company nor the order of a claim matters."""
    chosen = find(["gaussian-concentration", "ridge-concentration", "subgaussian-concentration"])
    alone = {claim.id: claim.check(Scale.QUICK, 5) for claim in chosen}
    together = {row.claim.id: row.outcome for row in verify(chosen[::-1], Scale.QUICK, 5)}
    assert {name: outcome.measured for name, outcome in alone.items()} == {
        name: outcome.measured for name, outcome in together.items()
    }


def test_rows_are_data() -> None:
    seen: list[tuple[int, str | None]] = []
    [row] = verify(
        find(["chi-square"]),
        progress=lambda done, coming: seen.append((done, coming.id if coming else None)),
    )
    assert seen == [(0, "chi-square"), (1, None)]
    assert json.loads(json.dumps(row.as_data(), allow_nan=False))["verdict"] == "holds"


def test_finding_claims() -> None:
    assert find([]) == CLAIMS
    assert [claim.id for claim in find([CLAIMS[-1].id, CLAIMS[0].id])] == list(
        dict.fromkeys([CLAIMS[0].id, CLAIMS[-1].id])
    ), "in the order of the paper"
    with pytest.raises(
        InvalidArgument, match=r"claim = 'chi-sqare': expected one of .*did you mean 'chi-square'"
    ):
        find(["chi-sqare"])


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = find(["chi-square"])
    with pytest.raises(InvalidArgument, match="seed = -1"):
        verify(chosen, seed=-1)
    with pytest.raises(WrongType, match="scale = 'quick'"):
        verify(chosen, "quick")
    with pytest.raises(WrongType, match="claims = 'chi-square'"):
        verify(["chi-square"])
    monkeypatch.setattr("ensample.claims.verification.free_megabytes", lambda: 10.0)
    with pytest.raises(
        InvalidArgument,
        match="scale = 'paper': expected a scale that fits: chi-square needs 100 MB and 10 MB",
    ):
        verify(chosen, Scale.PAPER)
