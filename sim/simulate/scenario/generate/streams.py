"""Streams of random numbers: one per purpose, so that a draw for one purpose shifts no other."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from struct import Struct
from typing import Protocol, TypeVar

WORD = 1 << 32
"""One above the largest number `words` gives."""

_Item = TypeVar("_Item")
_BLOCK = Struct("<16I")


class Uniform(Protocol):
    """A source of random numbers in [0, 1)."""

    def random(self) -> float:
        """The next number."""
        ...


def stream(seed: int, purpose: str) -> Random:
    """The stream of `seed` for a purpose that takes many numbers, a workload for example.

    The same on every machine and in every process. It takes as long to make as thirty numbers of
    `Draws` take to draw.
    """
    digest = blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))


class Draws:
    """The stream of `seed` for a purpose that takes few numbers; the same everywhere, too.

    The numbers are the words of the hash of seed, purpose and the number of the block.
    """

    __slots__ = ("_blocks", "_key", "_words")

    def __init__(self, seed: int, purpose: str) -> None:
        self._key = f"{seed}/{purpose}/"
        self._blocks = 0
        self._words: list[int] = []

    def random(self) -> float:
        """A number in [0, 1), a multiple of 2**-32."""
        if not self._words:
            block = blake2b(f"{self._key}{self._blocks}".encode(), digest_size=64)
            self._words = list(_BLOCK.unpack(block.digest()))
            self._blocks += 1
        return self._words.pop() / WORD

    def happens(self, chance: float) -> bool:
        """True with this chance; takes one number whatever the chance is."""
        return self.random() < chance

    def choice(self, items: Sequence[_Item]) -> _Item:
        """One of the items, each as likely."""
        return items[int(self.random() * len(items))]

    def below(self, limit: float) -> int:
        """A whole number from 0 up to `limit` (exclusive); 0 if the limit is 0."""
        return int(self.random() * limit)


def between(rng: Uniform, limits: tuple[int, int]) -> int:
    """A whole number in `limits`, both included; `randint` takes five times as long."""
    low, high = limits
    return low + int(rng.random() * (high - low + 1))


def log_between(rng: Uniform, limits: tuple[int, int]) -> int:
    """A whole number in `limits`, both included and above 0, each order of magnitude alike."""
    low, high = limits
    return min(high, int(low * ((high + 1) / low) ** rng.random()))


def perhaps(seed: int, purpose: str, chance: float, limits: tuple[int, int]) -> int | None:
    """With this chance a whole number in `limits`, each order of magnitude alike; else None."""
    if chance <= 0:
        return None
    draws = Draws(seed, purpose)
    return log_between(draws, limits) if draws.happens(chance) else None


def share_between(rng: Uniform, limits: tuple[float, float]) -> float:
    """A number in `limits`."""
    low, high = limits
    return low + rng.random() * (high - low)


def words(rng: Random, count: int) -> tuple[int, ...]:
    """`count` whole numbers in [0, WORD), in a tenth of the time that `random()` takes for them.

    `word * n >> 32` is a whole number below n, `word < share * WORD` is true for that share.
    """
    return Struct(f"<{count}I").unpack(rng.randbytes(4 * count))
