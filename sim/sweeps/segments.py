"""The seeds of a sweep, each with as many of its cases as were asked for.

Case by case a sweep is one row of numbers; which seed a case is drawn from, and which draw of that
seed it is, its parts say. A sweep starts with one, and grows in two ways: its last seed gets more
cases, which leaves those before as they are, or another seed follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from sim.errors import BadInput
from sim.limits import CASES, SEED

SEED_LIMIT = SEED.most + 1
"""Exclusive: every seed fits a signed 64-bit column."""
COUNT_LIMIT = CASES.most + 1
"""Exclusive: `run_id` stays far inside a signed 64-bit column whatever the number of rule sets."""


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """Consecutive cases of one seed, from its first draw on.

    Attributes:
        seed: What they are drawn from.
        cases: How many there are.
    """

    seed: int
    cases: int


def in_order(parts: Sequence[Part], *, turns: int) -> tuple[Part, ...]:
    """The parts of a sweep, one after the other.

    Args:
        parts: At least one.
        turns: How many environments take turns; a draw has a case in each, so that only the last
            part may end within a draw.

    Raises:
        BadInput: A seed or a count is out of range, a seed comes twice, or a part that another one
            follows ends within a draw.
    """
    total = 0
    for number, part in enumerate(parts):
        total += part.cases
        if not 1 <= part.cases < COUNT_LIMIT:
            raise BadInput(f"count {part.cases}: a sweep has between 1 and {COUNT_LIMIT - 1} cases")
        if total >= COUNT_LIMIT:
            raise BadInput(f"{total} cases together: a sweep has at most {COUNT_LIMIT - 1}")
        if not 0 <= part.seed < SEED_LIMIT:
            raise BadInput(f"seed {part.seed}: a seed is between 0 and {SEED_LIMIT - 1}")
        if part.seed in [other.seed for other in parts[:number]]:
            twice = "twice in one sweep; its cases would count twice"
            raise BadInput(f"seed {part.seed}, draw 0: {twice}")
        if part is not parts[-1] and part.cases % turns:
            raise BadInput(_half_a_draw(part, turns))
    return tuple(parts)


def _half_a_draw(part: Part, turns: int) -> str:
    whole = -(-part.cases // turns) * turns
    return (
        f"seed {part.seed} has {part.cases} cases, which do not fill {turns} environments; "
        f"before another seed follows it needs {whole} (--append --count {whole})"
    )


def cases_of(parts: Sequence[Part]) -> int:
    """How many cases there are in all."""
    return sum(part.cases for part in parts)


def case_seed(parts: Sequence[Part], turns: int, case_id: int) -> int:
    """The seed of a case's scenario, in [0, 2**63); one draw has one in every environment.

    It is a hash of (seed of the part, draw): a case is the same however many others there are.
    """
    number, place = 0, case_id
    while place >= parts[number].cases:
        place -= parts[number].cases
        number += 1
    text = f"{parts[number].seed}/{place // turns}"
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def seeds_text(parts: Sequence[Part]) -> str:
    """`seed 7`, or `seeds 7 (100 cases), 8 (50 cases)`."""
    if len(parts) == 1:
        return f"seed {parts[0].seed}"
    return "seeds " + ", ".join(f"{part.seed} ({part.cases:,} cases)" for part in parts)


def parts_in(content: Mapping[str, Any]) -> list[Part]:
    """The parts that a `plan.json` names; one that names none has one."""
    alone = [{"seed": content["seed"], "cases": content["count"]}]
    return [Part(**one) for one in content.get("segments") or alone]
