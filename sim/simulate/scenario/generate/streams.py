"""Streams of random numbers, one for each purpose, so that draws for one shift no other."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from struct import Struct
from typing import TypeVar

WORD = 1 << 32
"""Upper bound (exclusive) of the numbers that `words` returns."""

_Item = TypeVar("_Item")
_BLOCK = Struct("<16I")


def stream(seed: int, purpose: str) -> Random:
    """The stream of `seed` for a purpose that takes many numbers, a workload for example.

    It is the same on every machine and in every process. Making it takes as long as drawing thirty
    numbers of `Draws`.
    """
    digest = blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))


class Draws:
    """The stream of `seed` for a purpose that takes few numbers, the same everywhere, too.

    Its numbers are the words of hashes of seed, purpose and a block number.
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
        """True with this chance; takes exactly one number of the stream."""
        return self.random() < chance

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Chooses an item, each with the same chance."""
        return items[int(self.random() * len(items))]

    def below(self, limit: float) -> int:
        """A whole number from 0 to `limit` (exclusive); 0 if the limit is 0."""
        return int(self.random() * limit)

    def between(self, limits: tuple[int, int]) -> int:
        """A whole number in `limits` (both inclusive)."""
        low, high = limits
        return low + int(self.random() * (high - low + 1))

    def log_between(self, limits: tuple[int, int]) -> int:
        """A whole number in `limits` (inclusive, above 0), each order of magnitude as likely."""
        low, high = limits
        return min(high, int(low * ((high + 1) / low) ** self.random()))

    def share_between(self, limits: tuple[float, float]) -> float:
        """A number between two limits (the upper one exclusive)."""
        low, high = limits
        return low + self.random() * (high - low)


def perhaps(seed: int, purpose: str, chance: float, limits: tuple[int, int]) -> int | None:
    """Draws a number as `Draws.log_between` does, with this chance; else None."""
    if chance <= 0:
        return None
    draws = Draws(seed, purpose)
    return draws.log_between(limits) if draws.happens(chance) else None


def words(rng: Random, count: int) -> tuple[int, ...]:
    """Draws `count` whole numbers in [0, WORD), in a tenth of the time that `random()` takes.

    `word * n >> 32` is a whole number below n, and `word < share * WORD` is true with chance
    `share`.
    """
    return Struct(f"<{count}I").unpack(rng.randbytes(4 * count))
