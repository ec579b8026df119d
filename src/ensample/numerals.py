"""Numbers as people read them, the same way in pages, figures, tables and terminals."""

import math

NOTHING, MINUS = "\u2013", "\u2212"  # a dash, and a minus as wide as a plus
LEAST, MOST = 1e-4, 1e9  # between them numbers are written out
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
OF_POWERS = 3  # digits of a number that is not written out


def numeral(
    x: float | None,
    digits: int = 3,
    *,
    padded: bool = False,
    typed: bool = False,
    most: float = MOST,
) -> str:
    """Format a number with so many digits, or as a power of ten where it is very large or small.

    `padded` keeps zeros at the end, so that columns line up; `typed` uses the signs of a keyboard,
    for terminals; numbers are written out below `most`. Whole numbers are exact where they are
    written out.

    >>> [numeral(x) for x in (0.0, 0.158655, -12.0, 1234.5678, 10**6, 4.57e12, 1e-10, 0.00123)]
    ['0', '0.159', '−12', '1,235', '1,000,000', '4.57 × 10¹²', '10⁻¹⁰', '0.00123']
    >>> [numeral(x, padded=True) for x in (38.0, 0.25, 99.96, None)]
    ['38.0', '0.250', '100', '–']
    >>> numeral(12_500.0, 6), numeral(2.5, 6)
    ('12,500', '2.5')
    >>> [numeral(x, 4, typed=True) for x in (-7.63312, 1.236e10, None)]
    ['-7.633', '1.24e+10', '-']
    """
    if x is None or math.isnan(x):
        return "-" if typed else NOTHING
    sign = "" if x >= 0 else "-" if typed else MINUS
    size = abs(x)
    if size == 0 or (size < most and float(f"{size:.{digits}g}") >= LEAST):
        return sign + written_out(size, digits, padded)
    if typed or math.isinf(size):
        return f"{sign}{size:.{OF_POWERS}g}"
    return sign + with_power(size, padded)


def written_out(size: float, digits: int, padded: bool) -> str:
    if isinstance(size, int):
        return f"{size:,}"
    rounded = float(f"{size:.{digits}g}")
    if rounded >= 10.0 ** (digits - 1):
        return f"{size:,.0f}"
    return f"{rounded:#,.{digits}g}" if padded and size else f"{rounded:,.{digits}g}"


def with_power(size: float, padded: bool) -> str:
    factor, power = f"{size:.{OF_POWERS - 1}e}".split("e")
    raised = f"10{str(int(power)).translate(RAISED)}"
    if padded:
        return f"{factor} × {raised}"
    return raised if float(factor) == 1.0 else f"{float(factor):g} × {raised}"


def aligned(x: float | None) -> str:
    """Format a number of a column."""
    return numeral(x, padded=True)


def terminal(x: float | None) -> str:
    """Format a number for a terminal: four digits, in the signs of a keyboard."""
    return numeral(x, 4, typed=True)


def decimals(x: float, places: int) -> str:
    """Format a number with so many decimals.

    >>> decimals(-0.274, 2)
    '−0.27'
    """
    return f"{x:.{places}f}".replace("-", MINUS)


def signed(x: float | None) -> str:
    """Format a number with its sign.

    >>> signed(1.5), signed(-1.5), signed(0.0)
    ('+1.50', '−1.50', '0')
    """
    return f"+{aligned(x)}" if x is not None and x > 0.0 else aligned(x)


def interval(low: float | None, high: float | None) -> str:
    """Format an interval; a dash where there is none.

    >>> interval(1.25, 3.5)
    '1.25 to 3.50'
    """
    if low is None or high is None or math.isnan(low):
        return NOTHING
    return f"{aligned(low)} to {aligned(high)}"


def several(count: int, thing: str) -> str:
    """Count things.

    >>> several(1, "decision"), several(2_000, "decision")
    ('1 decision', '2,000 decisions')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def percent(share: float) -> str:
    """Format a share.

    >>> percent(0.1234), percent(0.5), percent(0.0003)
    ('12.3%', '50.0%', '0.03%')
    """
    return f"{100.0 * share:.1f}%" if share >= 0.01 else f"{100.0 * share:.2g}%"


def duration(seconds: float) -> str:
    """Format a time.

    >>> duration(12.3), duration(600.0), duration(9000.0)
    ('12 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
