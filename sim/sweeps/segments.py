"""The segments of a sweep: a seed each, with as many of its cases as were asked for.

Case by case a sweep is one row of numbers; which seed a case is drawn from, and which draw of that
seed it is, the segments say. A sweep starts with one, and grows in two ways: its last segment gets
more cases, which leaves those before as they are, or another seed follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.limits import CASES, SEED

SEED_LIMIT = SEED.most + 1
"""Exclusive: every seed fits a signed 64-bit column."""
COUNT_LIMIT = CASES.most + 1
"""Exclusive: `run_id` stays far inside a signed 64-bit column whatever the number of rule sets."""


class Part(NamedTuple):
    """What `plan.json` says of a segment.

    Attributes:
        seed: What its cases are drawn from.
        cases: How many there are.
    """

    seed: int
    cases: int


class Segment(NamedTuple):
    """Consecutive cases of one seed, from its first draw on.

    Attributes:
        seed: What they are drawn from.
        first: The number of the first case, in the sweep.
        cases: How many there are.
    """

    seed: int
    first: int
    cases: int

    @property
    def end(self) -> int:
        """The number after that of the last case."""
        return self.first + self.cases

    @property
    def part(self) -> Part:
        """The same without its place."""
        return Part(self.seed, self.cases)


def in_order(parts: Sequence[Part], *, turns: int) -> tuple[Segment, ...]:
    """The segments one after the other.

    Args:
        parts: At least one.
        turns: How many environments take turns; a draw has a case in each, so that only the last
            segment may end within a draw.

    Raises:
        BadInput: A seed or a count is out of range, a seed comes twice, or a segment that another
            one follows ends within a draw.
    """
    found: list[Segment] = []
    for seed, cases in parts:
        first = found[-1].end if found else 0
        if not 1 <= cases < COUNT_LIMIT:
            raise BadInput(f"count {cases}: a sweep has between 1 and {COUNT_LIMIT - 1} cases")
        if first + cases >= COUNT_LIMIT:
            total = first + cases
            raise BadInput(f"{total} cases together: a sweep has at most {COUNT_LIMIT - 1}")
        if not 0 <= seed < SEED_LIMIT:
            raise BadInput(f"seed {seed}: a seed is between 0 and {SEED_LIMIT - 1}")
        if any(seed == other.seed for other in found):
            raise BadInput(f"seed {seed}, draw 0: twice in one sweep; its cases would count twice")
        if found and found[-1].cases % turns:
            raise BadInput(_half_a_draw(found[-1], turns))
        found.append(Segment(seed, first, cases))
    return tuple(found)


def _half_a_draw(segment: Segment, turns: int) -> str:
    whole = -(-segment.cases // turns) * turns
    return (
        f"seed {segment.seed} has {segment.cases} cases, which do not fill {turns} environments; "
        f"before another seed follows it needs {whole} (--append --count {whole})"
    )


def segment_of(segments: Sequence[Segment], case_id: int) -> Segment:
    """The segment that a case is of."""
    return segments[bisect_right(segments, case_id, key=lambda one: one.first) - 1]


def case_seed(segments: Sequence[Segment], turns: int, case_id: int) -> int:
    """The seed of a case's scenario, in [0, 2**63); one draw has one in every environment.

    It is a hash of (seed of the segment, draw): a case is the same however many others there are.
    """
    segment = segment_of(segments, case_id)
    draw = (case_id - segment.first) // turns
    digest = blake2b(f"{segment.seed}/{draw}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def seeds_text(parts: Sequence[Part]) -> str:
    """`seed 7`, or `seeds 7 (100 cases), 8 (50 cases)`."""
    if len(parts) == 1:
        return f"seed {parts[0].seed}"
    return "seeds " + ", ".join(f"{seed} ({cases:,} cases)" for seed, cases in parts)


def parts_in(content: Mapping[str, Any]) -> list[Part]:
    """The segments that a `plan.json` names; one that names none has one."""
    alone = [{"seed": content["seed"], "cases": content["count"]}]
    return [Part(**one) for one in content.get("segments") or alone]
