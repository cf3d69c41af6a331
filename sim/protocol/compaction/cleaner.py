"""The cleaner: one pass over the segments of one log, as a function.

Build a map of winners, then copy what is kept, group of segments by group. Running it twice with
the same arguments gives the same answer. Source: Cleaner.doClean, Cleaner.groupSegmentsBySize.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim.protocol.compaction.copying import Copier
from sim.protocol.compaction.failures import PassFailed
from sim.protocol.compaction.offset_map import build_map
from sim.protocol.compaction.plan import Cleaning, CleaningPass
from sim.protocol.log import Segment

MAX_OFFSET_RANGE: Final = 2**31 - 1
"""Farthest the end of a cleaned segment may be from its base."""


def clean(segments: Sequence[Segment], plan: CleaningPass) -> Cleaning:
    """Clean what lies below the upper bound, as far as the map reaches.

    The segments covered are all from the first one to the one that holds the map's last offset; the
    arguments are left untouched. A pass into whose map nothing can enter changes nothing. One that
    cannot go on says why in `failure`, and what it did before.
    """
    nothing = Cleaning([], 0, plan.first_dirty_offset)
    if plan.first_dirty_offset >= plan.upper_bound and not (plan.rescan or plan.given_map):
        return nothing
    try:
        reach = plan.given_map or build_map(segments, plan)
    except PassFailed as failure:
        nothing.failure = failure
        return nothing
    if reach.latest_offset < 0:
        return nothing
    end = min(reach.latest_offset + 1, plan.upper_bound)
    covered = [segment for segment in segments if segment.base_offset < end]
    copier = Copier(segments, len(covered), plan, reach)
    result, finished = copier.result, 0
    for group in groups_of(
        covered,
        max_bytes=plan.segment_bytes,
        upper_bound=plan.upper_bound,
        exempt_empty=plan.policy.group_empty_segments,
    ):
        try:
            result.segments.append(copier.copy_group(group))
        except PassFailed as failure:
            return result.stopped(
                failure,
                below=group[0].base_offset,
                replaced=finished,
                next_dirty_offset=plan.first_dirty_offset,
            )
        finished += len(group)
    copier.note_unended()
    return result


def groups_of(
    segments: Sequence[Segment],
    *,
    max_bytes: int | None,
    upper_bound: int,
    exempt_empty: bool = True,
) -> list[list[Segment]]:
    """Cut `segments` into runs that become one segment each, left to right.

    Sizes are those before cleaning, so what shrinks now is merged in a later pass. A segment over
    the limit stays alone; an empty one joins for any range of offsets, unless `exempt_empty`
    is false, as it was before KAFKA-12889. `upper_bound` is where the last segment ends
    (exclusive). Index sizes are not modelled.
    """
    groups: list[list[Segment]] = []
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
