"""What a numeral says is the number, to the digits that it has."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensample.numerals import MINUS, NOTHING, numeral

DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SIZES = st.floats(1e-300, 1e300) | st.floats(1e-6, 1e12) | st.floats(1.0, 1e4)
SIGNED = SIZES | SIZES.map(lambda x: -x) | st.just(0.0)
TYPED = re.compile(r"-?(\d{1,3}(,\d{3})*|\d+)(\.\d+)?(e[+-]\d+)?")


def read(text: str) -> float:
    """A numeral as a number; ValueError where it is none."""
    text = text.replace(",", "").replace(MINUS, "-")
    factor, times, power = text.rpartition(" × ")
    if not times and re.fullmatch("-?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", text):
        factor, power = ("-1", text[1:]) if text.startswith("-") else ("1", text)
    return float(f"{factor}e{power[2:].translate(DIGITS)}") if factor else float(text)


@given(SIGNED, st.integers(3, 6), st.booleans(), st.booleans(), st.sampled_from([1e6, 1e9]))
def test_it_reads_back(x: float, digits: int, padded: bool, typed: bool, most: float) -> None:
    text = numeral(x, digits, padded=padded, typed=typed, most=most)
    assert read(text) == pytest.approx(x, rel=0.51 * 10.0**-2)
    if 1e-4 < abs(x) < most:
        assert read(text) == pytest.approx(x, rel=0.51 * 10.0 ** (1 - digits))
        assert "10" + "⁻" not in text
    assert not text.endswith(".") and not (typed and not TYPED.fullmatch(text))
    if padded and 1e-3 < abs(x) < 99.0:
        assert sum(letter.isdigit() for letter in text.lstrip(f"-{MINUS}0.")) == digits


@given(st.integers(-(10**9) + 1, 10**9 - 1))
def test_whole_numbers_are_exact(n: int) -> None:
    assert int(read(numeral(n))) == n


def test_what_is_no_number_is_a_dash() -> None:
    assert numeral(None) == numeral(float("nan")) == NOTHING and numeral(None, typed=True) == "-"
    assert (numeral(float("inf")), numeral(float("-inf"))) == ("inf", f"{MINUS}inf")
    assert numeral(99.96, padded=True) == "100", "not 100."
