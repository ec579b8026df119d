"""MurmurHash3, 32 bits, as scikit-learn's FeatureHasher uses it.

Reference: A. Appleby, MurmurHash3 (2011), public domain.
"""

__all__ = ["murmur3", "signed"]

WORD = 0xFFFFFFFF


def rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & WORD


def mixed(block: int) -> int:
    return rotated(block * 0xCC9E2D51 & WORD, 15) * 0x1B873593 & WORD


def murmur3(text: str, seed: int = 0) -> int:
    """Of a text's UTF-8 bytes: 0 to 2^32 - 1.

    >>> murmur3("foo")
    4138058784
    """
    data = text.encode("utf-8", "surrogatepass")
    whole = len(data) & ~3
    hash = seed
    for place in range(0, whole, 4):
        hash = (rotated(hash ^ mixed(int.from_bytes(data[place : place + 4], "little")), 13) * 5 + 0xE6546B64) & WORD
    if whole < len(data):
        hash ^= mixed(int.from_bytes(data[whole:], "little"))
    hash ^= len(data)
    hash = (hash ^ hash >> 16) * 0x85EBCA6B & WORD
    hash = (hash ^ hash >> 13) * 0xC2B2AE35 & WORD
    return hash ^ hash >> 16


def signed(text: str, dim: int) -> tuple[int, float]:
    """(column, sign) of a feature among `dim`: |h| mod dim and the sign of h, read as a signed number."""
    hash = murmur3(text)
    if hash >> 31:
        return (WORD + 1 - hash) % dim, -1.0
    return hash % dim, 1.0
