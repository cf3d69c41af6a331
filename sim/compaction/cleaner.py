"""The cleaner: one pass over the segments of one log, as a function.

Build a map of winners, then copy what is kept, group of segments by group. Running it twice with
the same arguments gives the same answer. Source: Cleaner.doClean.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.compaction.copying import copy
from sim.compaction.offset_map import MapRange, OffsetMap, build_map
from sim.compaction.plan import Cleaning, CleaningPass
from sim.log import Segment


def clean(segments: Sequence[Segment], plan: CleaningPass) -> Cleaning:
    """Clean what lies below the upper bound, as far as the map reaches.

    The segments covered are all from the first one to the one that holds the map's last offset; the
    arguments are left untouched. A pass into whose map nothing can enter changes nothing.

    Raises:
        UnreadableVersion: Only with a strategy that says so; nothing was changed.
    """
    reach = plan.given_map or _map_of(segments, plan)
    if reach.latest_offset < 0:
        return Cleaning([], 0, plan.first_dirty_offset)
    end = min(reach.latest_offset + 1, plan.upper_bound)
    replaced = sum(1 for segment in segments if segment.base_offset < end)
    return copy(segments, replaced, plan, reach)


def _map_of(segments: Sequence[Segment], plan: CleaningPass) -> OffsetMap:
    if plan.first_dirty_offset >= plan.upper_bound and not plan.rescan:
        return OffsetMap({}, 0, -1)
    return build_map(
        segments,
        MapRange(
            strategy=plan.strategy,
            full=plan.full_map,
            first_dirty_offset=plan.first_dirty_offset,
            upper_bound=plan.upper_bound,
            capacity=plan.map_capacity,
            stubs=plan.stubs,
            reads_all=plan.unmapped_version is not None,
        ),
    )
