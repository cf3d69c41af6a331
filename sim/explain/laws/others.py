"""What decided where snapshots, readers, producers or bounds are not as they should be."""

from __future__ import annotations

from sim.explain.case import Case, Fact
from sim.explain.laws.logs import two_records
from sim.explain.why import Facts, Why
from sim.trace import (
    Appended,
    Cleaned,
    CleanerLooked,
    ConfigChanged,
    Consumed,
    ConsumerReset,
    Converted,
    Copied,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    ProducersForgotten,
    ReadingEnded,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotInstalled,
    SnapshotTaken,
    Understood,
)
from sim.trace.sentences import describe


def compaction_bound(case: Case, why: Why) -> Facts:
    """A pass went above the high watermark."""
    event = case.event(case.cone.judged)
    assert isinstance(event, Cleaned)
    offset = case.violation.offset
    facts = [] if offset is None else why.lacks(event.replica, offset, before=case.cone.judged + 1)
    text = (
        f"the pass of {event.replica} went up to {event.upper_bound} with high watermark "
        f"{event.high_watermark} (cleaner_bound: {case.rules.cleaner.cleaner_bound})"
    )
    return [*facts, Fact("position", text, case.cone.judged)]


def snapshot_bound(case: Case, _: Why) -> Facts:
    """A snapshot was taken above the high watermark."""
    event = case.event(case.cone.judged)
    name = event.replica or ""
    end = event.end_offset if isinstance(event, SnapshotTaken | SnapshotInstalled) else "?"
    mark = case.high_watermark_of(name, before=case.cone.judged)
    text = (
        f"{name} took a snapshot up to {end} {case.when(case.cone.judged)} with high watermark "
        f"{mark} and log end offset {case.end_of(name, before=case.cone.judged)}"
    )
    return [Fact("position", text, case.cone.judged)]


def snapshot_content(case: Case, why: Why) -> Facts:
    """A snapshot says something else of a key than committed history."""
    replica, end = case.violation.replica, case.violation.offset
    for position in reversed(range(case.cone.judged + 1)):
        event = case.event(position)
        if isinstance(event, SnapshotTaken) and end in (event.end_offset, None):
            name = event.replica
            mark = case.high_watermark_of(name, before=position)
            held = [r.uid for r in event.records if r.key == case.violation.key]
            text = (
                f"{name} took snapshot ({event.end_offset}, {event.epoch}) {case.when(position)} "
                f"with high watermark {mark}, log end offset {case.end_of(name, before=position)}; "
                f"it has {case.names(held) or 'nothing'} for {case.violation.key}"
            )
            facts = [Fact("snapshot", text, position)]
            winner = case.history.winners.get(case.violation.key or "", 0)
            if winner and winner not in held:
                offset = case.known.records[winner].offset
                if offset < event.end_offset:
                    return [*why.lacks(name, offset, before=position), *facts]
            return facts
    return [] if replica is None else [Fact("snapshot", f"{replica} has no snapshot there", None)]


def prefix(case: Case, _: Why) -> Facts:
    """A log start moved without a snapshot that covers it, or above what is committed."""
    replica, judged = case.violation.replica or "", case.cone.judged
    start = case.known.last("start", replica, before=judged + 1)
    event = None if start is None else case.event(start)
    facts: Facts = []
    if start is not None and isinstance(event, PrefixDeleted | LogStartMoved):
        cause = ""
        if isinstance(event, LogStartMoved):
            cause = f" ({event.cause}{case.by_clock(start)})"
        text = (
            f"{replica} moved its log start to {event.log_start_offset}{cause} {case.when(start)}, "
            f"high watermark {event.high_watermark}, newest snapshot "
            f"{case.newest_snapshot(replica, before=start) or 'none'}"
        )
        facts.append(Fact("position", text, start))
    elif isinstance(event, LogStartedAfresh) and start is not None:
        facts.append(Fact("position", describe(event), start))
    if start != judged and not isinstance(case.event(judged), ReplicaWiped):
        facts.append(Fact("snapshot", describe(case.event(judged)), judged))
    elif isinstance(case.event(judged), ReplicaWiped):
        facts.append(Fact("loss", describe(case.event(judged)), judged))
    return facts


def installed(case: Case, _: Why) -> Facts:
    """A follower emptied or replaced its log by a snapshot at a wrong time."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    name = event.replica or ""
    facts: Facts = []
    if isinstance(event, SnapshotInstalled | LogEmptied):
        taken = case.known.last("taken", str(event.end_offset), str(event.epoch), before=judged)
        if taken is not None:
            who = case.event(taken).replica
            text = f"{who} took snapshot ({event.end_offset}, {event.epoch}) {case.when(taken)}"
            facts.append(Fact("snapshot", text, taken))
        led = case.known.last("lead", name, before=judged)
        elected = None if led is None else case.event(led)
        if isinstance(elected, LeaderElected):
            text = f"{name} leads epoch {elected.epoch} since {case.when(led or 0)}"
            facts.append(Fact("epoch", text.replace("since at", "since"), led))
        does = "emptied its log for" if isinstance(event, LogEmptied) else "installed"
        text = (
            f"{name} {does} snapshot ({event.end_offset}, {event.epoch}) {case.when(judged)}, when "
            f"its log ended at {event.log_end_offset} and its high watermark was "
            f"{event.high_watermark}"
        )
        facts.append(Fact("position", text, judged))
    return facts


def fetching(case: Case, _: Why) -> Facts:
    """A snapshot's download did not get on."""
    replica = case.violation.replica or ""
    dropped: Facts = []
    for position in case.known.all("snapshot", replica):
        event = case.event(position)
        if isinstance(event, SnapshotFetchDropped):
            text = (
                f"{replica} gave up snapshot ({event.end_offset}, {event.epoch}) "
                f"{case.when(position)}: {event.reason}{_deleted(case, event, position)}"
            )
            dropped.append(Fact("snapshot", text, position))
        elif isinstance(event, SnapshotChunkFetched) and not dropped:
            last = position
    if dropped:
        return [*dropped[-1:], *dropped[:-1]]
    return [Fact("snapshot", describe(case.event(last)), last)] if "last" in locals() else []


def _deleted(case: Case, event: SnapshotFetchDropped, before: int) -> str:
    for position in reversed(range(before)):
        gone = case.event(position)
        if isinstance(gone, SnapshotDeleted) and gone[1:] == (event.end_offset, event.epoch):
            return f", which {gone.replica} had deleted {case.when(position)}"
    return ""


def sent_twice(case: Case, _: Why) -> Facts:
    """A replica was sent what it had."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    name = event.replica or ""
    if isinstance(event, Copied):
        text = (
            f"{name}, which had all below {event.fetch_offset}, copied "
            f"{sum(b.size_bytes for b in event.batches):,} bytes from {event.leader} "
            f"{case.when(judged)}, a snapshot in the log among them (snapshot_placement: "
            f"{case.rules.snapshots.snapshot_placement})"
        )
        return [Fact("snapshot", text, judged)]
    text = f"{describe(event)} {case.when(judged)}"
    before = case.known.last("snapshot", name, before=judged)
    earlier = [] if before is None else [Fact("snapshot", describe(case.event(before)), before)]
    return [*earlier, Fact("position", text, judged)]


def passed(case: Case, why: Why) -> Facts:
    """A consumer passed, or waits at, an offset that it should have been given."""
    violation, judged = case.violation, case.cone.judged
    event = case.event(judged)
    replica, offset = event.replica or "", violation.offset
    if isinstance(event, ReadingEnded):
        holes = [o for o in range(event.start, event.end) if not case.uid_at(replica, o)]
        offset = holes[-1] if holes else offset
    facts: Facts = []
    if offset is not None and not case.uid_at(replica, offset, before=judged):
        facts = why.lacks(replica, offset, before=judged)
    elif offset is not None:
        facts = two_records(case, why)
    consumer = getattr(event, "consumer", "")
    return [*facts, *_reads(case, consumer, offset)]


def _reads(case: Case, consumer: str, offset: int | None) -> Facts:
    """The read or the reset by which a consumer passed an offset, and the last one."""
    found: Facts = []
    ends = [*case.known.all("read", consumer), case.cone.judged]
    for position in dict.fromkeys(ends):
        event = case.event(position)
        match event:
            case Consumed(replica, _, start, end, records, now_ms) if (
                offset is None or start <= offset < end
            ):
                text = (
                    f"{consumer} read {replica} from {start} to {end} {case.when(position)} (at "
                    f"{now_ms:,} ms) and was given "
                    f"{case.names([r.uid for r in records]) or 'nothing'}"
                )
                found.append(Fact("read", text, position))
            case ConsumerReset(replica, _, to, cause):
                text = f"{consumer} was moved to {to} of {replica} ({cause}) {case.when(position)}"
                found.append(Fact("read", text, position))
            case ReadingEnded(replica, _, until, _, end, at, last, given):
                text = (
                    f"{consumer} reads {replica} until {until} {end}: it is at position {at}, was "
                    f"given {given} records, the last at {last}"
                )
                found.append(Fact("read", text, position))
            case _:
                pass
    return found[-3:]


def moved_reader(case: Case, _: Why) -> Facts:
    """A consumer went on elsewhere than where it ended."""
    consumer = getattr(case.event(case.cone.judged), "consumer", "")
    return _reads(case, consumer, None)


def altered(case: Case, _: Why) -> Facts:
    """A copy or a read is not what was appended: what is different, and who wrote it anew."""
    event, offset = case.event(case.cone.judged), case.violation.offset
    name = event.replica or ""
    batches = event.batches if isinstance(event, Copied) else ()
    given = (
        event.records if isinstance(event, Consumed) else [r for b in batches for r in b.records]
    )
    facts: Facts = []
    for record in given:
        original = case.known.records.get(record.uid)
        if original is None or record.offset != offset or record == original:
            continue
        for field in record._fields:
            was, now = getattr(original, field), getattr(record, field)
            if was != now:
                kind = "timestamp" if field == "timestamp_ms" else "version"
                text = f"{field} of {case.name(record.uid)} was {was!r} as appended and is {now!r}"
                facts.append(Fact(kind, text, case.cone.judged))  # type: ignore[arg-type]
    return [*_rewritten(case, name, offset), *facts]


def _rewritten(case: Case, name: str, offset: int | None) -> Facts:
    """The pass, or the conversion, that wrote a batch anew."""
    found: Facts = []
    for position, (_at, event) in enumerate(case.events[: case.cone.judged + 1]):
        if isinstance(event, Cleaned) and any(
            base <= (offset or 0) for base, _ in (*event.rewritten, *event.horizons)
        ):
            horizons = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons)
            text = (
                f"{event.replica} wrote batches anew {case.when(position)}, delete horizons "
                f"{horizons or 'none'} (horizon_rebase: {case.rules.cleaner.horizon_rebase}, "
                f"tombstone_removal: {case.rules.cleaner.tombstone_removal})"
            )
            found.append(Fact("horizon", text, position))
        elif isinstance(event, Converted) and offset in event.values_lost:
            found.append(Fact("version", describe(event), position))
    return found[-1:]


def understood(case: Case, _: Why) -> Facts:
    """A consumer took a record for what it is not."""
    event = case.event(case.cone.judged)
    assert isinstance(event, Understood)
    facts: Facts = []
    for position in case.known.all("config", event.consumer):
        changed = case.event(position)
        assert isinstance(changed, ConfigChanged)
        facts.append(Fact("version", describe(changed), position))
    offset = case.violation.offset
    record = next((r for r in (*event.values, *event.deletes) if r.offset == offset), None)
    if record is not None:
        original = case.known.records.get(record.uid, record)
        took = "a delete" if record in event.deletes else "a value"
        text = (
            f"{event.consumer} was given value {record.value!r}, flag {record.flagged}, and took "
            f"it for {took}; appended was value {original.value!r}, flag {original.flagged} "
            f"(tombstone_mark: {case.rules.cleaner.tombstone_mark})"
        )
        facts.append(Fact("version", text, case.cone.judged))
        for position, (_at, other) in enumerate(case.events[: case.cone.judged]):
            if isinstance(other, Converted) and offset in other.values_lost:
                facts.insert(0, Fact("version", describe(other), position))
    return facts


def sequences(case: Case, why: Why) -> Facts:
    """A sequence number is committed twice, or not although it was acknowledged."""
    judged, offset = case.cone.judged, case.violation.offset
    if offset is None:
        return []
    uid = case.committed_at(offset)
    batch = case.known.batches.get(uid)
    if batch is None:
        return []
    facts: Facts = []
    for position, (_at, event) in enumerate(case.events[: judged + 1]):
        if isinstance(event, ProducersForgotten) and batch.producer_id in event.producers:
            facts.append(Fact("sequence", f"{describe(event)} {case.when(position)}", position))
        elif isinstance(event, Appended) and event.batch.producer_id == batch.producer_id:
            one = event.batch
            last = one.base_sequence + one.last_offset - one.base_offset
            text = (
                f"{event.replica} appended sequence numbers {one.base_sequence} to {last} of "
                f"producer {one.producer_id} (its epoch {one.producer_epoch}) at "
                f"{one.base_offset} to {one.last_offset} {case.when(position)}"
            )
            facts.append(Fact("sequence", text, position))
    again = [one for one in facts if one.position is not None]
    written = case.known.appended_at.get(uid)
    knew: Facts = []
    if written is not None:
        leader = case.event(written).replica or ""
        for earlier in case.known.records:
            other = case.known.batches[earlier]
            if (
                other.producer_id == batch.producer_id
                and other.base_sequence >= 0
                and other.base_sequence >= batch.base_sequence
                and other is not batch
                and not case.uid_at(leader, case.known.records[earlier].offset, before=written)
            ):
                at = case.known.records[earlier].offset
                knew += why.lacks(leader, at, before=written)
    return [*knew, *again[-4:]]


def lag(case: Case, _: Why) -> Facts:
    """A log was cleaned later than promised, or a metric says otherwise."""
    event = case.event(case.cone.judged)
    if not isinstance(event, CleanerLooked):
        return []
    text = (
        f"{event.replica} looked {case.when(case.cone.judged)}, "
        f"{case.clock(event.replica, event.now_ms)}: dirty from {event.first_dirty_offset}, last "
        f"stable offset {event.stable_offset}, {'due' if event.eligible else 'not due'} up to "
        f"{event.upper_bound}, {event.delay_ms:,} ms overdue, metric {event.metric_secs} s, "
        f"max.compaction.lag.ms {event.max_lag_ms:,}, message.timestamp.difference.max.ms "
        f"{event.difference_max_ms}"
    )
    return [Fact("clock", text, case.cone.judged), *_youngest(case, event)]


def _youngest(case: Case, event: CleanerLooked) -> Facts:
    offset = case.violation.offset
    if offset is None:
        return []
    uid = case.uid_at(event.replica, offset)
    record = case.known.records.get(uid)
    if record is None:
        return []
    text = f"{case.name(uid)} has timestamp {record.timestamp_ms:,} ms"
    return [Fact("timestamp", text, case.known.appended_at.get(uid))]


def fallback(case: Case, why: Why) -> Facts:
    """Whatever removal, cut, loss or election of the cone came last."""
    offset, replica = case.violation.offset, case.violation.replica
    facts: Facts = []
    if offset is not None:
        for name in [replica] if replica is not None else case.known.replicas:
            if not case.uid_at(name, offset):
                facts += why.lacks(name, offset, before=case.cone.judged + 1)
    if not facts:
        text = f"{describe(case.event(case.cone.judged))} {case.when(case.cone.judged)}"
        facts.append(Fact("write", text, case.cone.judged))
    return facts
