"""The events that led to a violation, newest first, one line each; what repeats is folded."""

from __future__ import annotations

from collections.abc import Iterator

from sim import trace
from sim.explain.case import Case
from sim.explain.causality import Cone
from sim.explain.sentences import listed
from sim.trace.sentences import describe


def chain(case: Case, cone: Cone) -> list[str]:
    """Every event of the cone in some line, the newest first.

    Neighbours are folded into one line: copies from one leader, positions that one leader
    recorded, high watermarks, reads of one consumer. The records named are those the violation
    hangs on, with their versions; the others are counted.
    """
    about = _About(case, cone)
    lines: list[str] = []
    for group in _grouped(case, cone):
        at = max(case.past.events[position][0] for position in group)
        lines.append(f"{at:>6}  {about.sentence(group)}")
    return lines


def _grouped(case: Case, cone: Cone) -> Iterator[list[int]]:
    """Positions of the cone, newest first, those that are folded together in one list."""
    replication: list[int] = []
    for position in reversed(cone.positions):
        if _kind(case.past.event(position)):
            replication.append(position)
            continue
        yield from _by_kind(case, replication)
        replication = []
        yield [position]
    yield from _by_kind(case, replication)


def _by_kind(case: Case, positions: list[int]) -> Iterator[list[int]]:
    """A stretch of replication: all copies from one leader together, and so on."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for position in positions:
        groups.setdefault(_kind(case.past.event(position)), []).append(position)
    yield from groups.values()


def _kind(event: trace.Event) -> tuple[str, ...]:
    match event:
        case trace.Copied(_, leader) | trace.GapLearned(_, leader):
            return ("copied", leader)
        case trace.PositionRecorded(name, _, _):
            return ("recorded", name)
        case trace.HighWatermarkMoved(name, _, leading):
            return ("commits", name) if leading else ("learns",)
        case trace.Consumed(_, consumer):
            return ("reads", consumer)
        case trace.SnapshotChunkFetched(name, leader, end, epoch):
            return ("fetches", name, leader, str(end), str(epoch))
        case _:
            return ()


class _About:
    """What is named in the lines of one case: offsets and keys of the violation and its facts."""

    def __init__(self, case: Case, cone: Cone) -> None:
        self._case = case
        violation = case.violation
        self._offsets = set() if violation.offset is None else {violation.offset}
        self._key = violation.key if violation.offset is None else None
        for position in cone.positions:
            event = case.past.event(position)
            for removal in event.removals if isinstance(event, trace.Cleaned) else ():
                if removal.winner_offset is not None and removal.offset in self._offsets:
                    self._offsets.add(removal.winner_offset)
        if violation.key is not None:
            for uid in case.uids_of(violation.key)[-8:]:
                self._offsets.add(case.history.written[uid].offset)

    def names(self, offset: int, key: str | None) -> bool:
        """Whether a record is named."""
        return offset in self._offsets or (key is not None and key == self._key)

    def sentence(self, group: list[int]) -> str:
        """Some events of one kind, newest first, in one line."""
        case = self._case
        event = case.past.event(group[0])
        match event:
            case trace.Copied(_, leader) | trace.GapLearned(_, leader):
                return self._copies(leader, group)
            case trace.PositionRecorded(name, _, _):
                found = [case.past.event(position) for position in reversed(group)]
                last = {
                    e.follower: e.position for e in found if isinstance(e, trace.PositionRecorded)
                }
                return f"{name} recorded {listed([f'{who} at {at}' for who, at in last.items()])}"
            case trace.HighWatermarkMoved(name, mark, True):
                return f"{name} committed what is below {mark}"
            case trace.HighWatermarkMoved():
                return listed(
                    [
                        f"{e.replica} learned high watermark {e.high_watermark}"
                        for e in (case.past.event(position) for position in reversed(group))
                        if isinstance(e, trace.HighWatermarkMoved)
                    ]
                )
            case trace.Consumed():
                return self._reads(event, group)
            case trace.SnapshotChunkFetched(name, leader, end, epoch):
                chunks = f"{len(group)} chunks" if len(group) > 1 else "a chunk"
                return f"{name} fetched {chunks} of snapshot ({end}, {epoch}) from {leader}"
            case _:
                return self._single(group[0], event)

    def _single(self, position: int, event: trace.Event) -> str:
        case = self._case
        match event:
            case trace.Appended(name, batch):
                named = [r.uid for r in batch.records if self.names(r.offset, r.key)]
                if batch.control is None and named:
                    more = len(batch.records) - len(named)
                    others = f" and {more} more" if more else ""
                    return f"{name} appended {case.names(named)}{others} in epoch {batch.epoch}"
            case trace.Cleaned():
                return self._cleaned(event)
            case _:
                pass
        return describe(event, about=self.names)

    def _reads(self, last: trace.Consumed, group: list[int]) -> str:
        """`c1 read r1 from 2 to 9: …`."""
        case = self._case
        reads = [case.past.event(position) for position in reversed(group)]
        records = [r for one in reads if isinstance(one, trace.Consumed) for r in one.records]
        named = [r.uid for r in records if self.names(r.offset, r.key)]
        given = case.names(named) or f"{len(records)} records"
        first = reads[0]
        assert isinstance(first, trace.Consumed)
        logs = listed(list(dict.fromkeys(one.replica or "" for one in reads)))
        return f"{last.consumer} read {logs} from {first.start} to {last.end}: {given}"

    def _copies(self, leader: str, group: list[int]) -> str:
        """`r2 and r3 copied 4..9 from r1`."""
        case = self._case
        spans: dict[str, tuple[int, int]] = {}
        for position in group:
            event = case.past.event(position)
            assert isinstance(event, trace.Copied | trace.GapLearned)
            first, last = event.fetch_offset, event.log_end_offset - 1
            old = spans.get(event.replica, (first, last))
            spans[event.replica] = (min(old[0], first), max(old[1], last))
        by_span: dict[tuple[int, int], list[str]] = {}
        for name, span in reversed(spans.items()):
            by_span.setdefault(span, []).append(name)
        parts = [
            f"{listed(names)} copied {first if first == last else f'{first}..{last}'}"
            for (first, last), names in by_span.items()
        ]
        return f"{listed(parts)} from {leader}"

    def _cleaned(self, event: trace.Cleaned) -> str:
        case, name = self._case, event.replica
        said = []
        for removal in event.removals:
            if not self.names(removal.offset, removal.key):
                continue
            if removal.winner_offset is not None:
                at = removal.winner_offset
                known = [u for u in case.uids_of(removal.key) if self._is_at(u, at)]
                won = case.name(known[-1]) if known else f"the record at {at}"
                said.append(f"{case.name(removal.uid)} beaten by {won}")
            else:
                said.append(f"{case.name(removal.uid)} ({removal.reason})")
        more = len(event.removals) - len(said)
        removed = "; ".join(said) + (f" and {more} more" if said and more else "")
        removed = removed or (f"{more} records" if more else "nothing")
        kept = (
            f", kept {listed([str(one) for one in event.emptied])} empty" if event.emptied else ""
        )
        dropped = f", dropped the empty {listed([str(o) for o in event.dropped])}" * bool(
            event.dropped
        )
        span = f"[{event.first_dirty_offset}, {event.upper_bound})"
        horizons = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons)
        gave = f"; gave delete horizons {horizons}" if horizons else ""
        return (
            f"{name} cleaned {span}, {case.clock(name, event.now_ms)}, high watermark "
            f"{event.high_watermark}: removed {removed}{kept}{dropped}{gave}; log end "
            f"{event.log_end_offset}"
        )

    def _is_at(self, uid: int, offset: int) -> bool:
        return self._case.history.written[uid].offset == offset
