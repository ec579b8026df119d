"""A clock that one sets, and ids that count."""

from itertools import count


class Ticking:
    """Seconds since 1970, as told."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def counted() -> "object":
    """d0, d1, d2, ..."""
    numbers = count()
    return lambda: f"d{next(numbers)}"
