"""The smallest fault that a check refutes: found by bisection, and what is said about it."""

import math

import pytest

from ensample.claims import CLAIMS, Scale, find, verify
from ensample.claims.claim import Judge
from ensample.claims.evidence import always_at_most, identity
from ensample.claims.power import BLUNT, is_sharp, power, powers, smallest
from ensample.claims.texts import PLACES, cited


def bound_divided(measured: float) -> Judge:
    return lambda f: always_at_most(measured, 1.0 / f, 1)


@pytest.mark.parametrize("measured", [0.999, 0.9, 0.5, 0.2, 0.011])
def test_bisection_finds_the_fault_at_which_the_verdict_turns(measured: float) -> None:
    found = power(bound_divided(measured), 100.0)
    assert found is not None
    assert 1.0 / measured < found <= 1.0 + 1.06 * (1.0 / measured - 1.0)


def test_identities_notice_errors_of_their_tolerance() -> None:
    found = power(lambda f: identity(f - 1.0, 1e-9, 1), 100.0)
    assert found is not None and 1e-9 < found - 1.0 < 1.1e-9


def test_few_judgements_are_made() -> None:
    """A judgement may be a simulation."""
    sizes: list[float] = []

    def judge(f: float):
        sizes.append(f)
        return bound_divided(0.3)(f)

    power(judge, 100.0)
    assert len(sizes) <= 12 and all(f > 1.0 for f in sizes)


def test_a_check_that_refutes_nothing_has_no_power() -> None:
    assert power(bound_divided(0.001), 100.0) is None and not is_sharp(bound_divided(0.001))
    assert is_sharp(bound_divided(0.2)) and not is_sharp(bound_divided(0.99 / BLUNT))
    assert smallest((None, 3.0, 2.0)) == 2.0 and smallest((None,)) is None


def test_powers_of_a_claim() -> None:
    [claim] = find(["elliptical-potential"])
    [row] = verify([claim], Scale.QUICK, 0, power=True, twins=True)
    assert row.powers == powers(claim, Scale.QUICK, 0) and row.sharp
    assert row.powers[0] == pytest.approx(2.0 * math.log(2.0), rel=0.02), (
        "d = T = lam = 1: 1 against 2 log 2"
    )
    assert row.twin == claim.check_broken(Scale.QUICK, 0)
    [plain] = verify([claim])
    assert plain.powers is None and plain.twin is None


def test_references_have_numbers() -> None:
    assert (
        cited("thm:enssamp") == "Theorem 1 (regret bound of linear ensemble sampling), thm:enssamp"
    )
    numbers = [name.split(" (")[0] for name in PLACES.values()]
    assert len(set(numbers)) == len(numbers), "a number names one thing"
    lemmas = sorted(int(number.split()[1]) for number in numbers if number.startswith("Lemma"))
    assert lemmas == [n for n in range(1, 14) if n != 11], (
        "Lemma 11 has no label; the claim names it"
    )
    assert any("Lemma 11" in claim.reference for claim in CLAIMS)
