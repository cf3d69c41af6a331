"""Which neighbouring segments are cleaned into one (Cleaner.groupSegmentsBySize)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

MAX_OFFSET_RANGE = 2**31 - 1
"""Farthest the end of a cleaned segment may be from its base."""


class Grouped(Protocol):
    """What grouping asks of a segment."""

    @property
    def base_offset(self) -> int:
        """Smallest offset it may hold."""

    @property
    def size_bytes(self) -> int:
        """Bytes of its batches before cleaning."""


Kind = TypeVar("Kind", bound=Grouped)


def groups_of(
    segments: Sequence[Kind],
    *,
    max_bytes: int | None,
    upper_bound: int,
    exempt_empty: bool = True,
) -> list[list[Kind]]:
    """Cut `segments` into runs that become one segment each, left to right.

    Sizes are those before cleaning, so what shrinks now is merged in a later pass. A segment over
    the limit stays alone; an empty one joins whatever the range of offsets, unless `exempt_empty`
    is false, as it was before KAFKA-12889. `upper_bound` is where the last segment ends
    (exclusive). Index sizes are not modelled.
    """
    groups: list[list[Kind]] = []
    size = 0
    for index, segment in enumerate(segments):
        end = segments[index + 1].base_offset if index + 1 < len(segments) else upper_bound
        if (
            groups
            and (max_bytes is None or size + segment.size_bytes <= max_bytes)
            and (
                (exempt_empty and segment.size_bytes == 0)
                or end - 1 - groups[-1][0].base_offset <= MAX_OFFSET_RANGE
            )
        ):
            groups[-1].append(segment)
            size += segment.size_bytes
        else:
            groups.append([segment])
            size = segment.size_bytes
    return groups
