"""MurmurHash3, 32 bits, as scikit-learn's FeatureHasher uses it.

Reference: A. Appleby, MurmurHash3 (2011), public domain.
"""

import mmh3


def murmur3(text: str, seed: int = 0) -> int:
    """Hash a text's UTF-8 bytes to 0 ... 2^32 - 1.

    >>> murmur3("foo")
    4138058784
    """
    return mmh3.hash(text.encode("utf-8", "surrogatepass"), seed, signed=False)


def signed(text: str, dim: int) -> tuple[int, float]:
    """(column, sign) of a feature among `dim`: |h| mod dim and the sign of h, read as a signed number."""
    hash = mmh3.hash(text.encode("utf-8", "surrogatepass"))
    return abs(hash) % dim, -1.0 if hash < 0 else 1.0
