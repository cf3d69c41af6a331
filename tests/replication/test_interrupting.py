"""A crash in the middle of a pass: all of a group or nothing, under the right rules only."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.protocol.events import Cleaned, SegmentsLost
from sim.protocol.log import AbortedTransaction, Batch, Log, LogConfig, Segment, data_batch
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.interrupting import MOMENTS, Group, recovered, states
from sim.protocol.rules import Rules
from tests.check.events import marker, record

Content = tuple[tuple[int, tuple[int, ...]], ...]


def segment(base: int, offsets: list[int]) -> Segment:
    return Segment.of(base, [batch(offset) for offset in offsets], last_modified_ms=0)


def batch(offset: int) -> Batch:
    return data_batch((record(offset, f"k{offset % 3}"),), epoch=1)


@st.composite
def swaps(draw: st.DrawFn) -> tuple[Group, ...]:
    """One to three groups of one to three segments, each cleaned to some of its records."""
    groups, base = [], 0
    for _ in range(draw(st.integers(1, 3))):
        sources, kept, start = [], [], base
        for _ in range(draw(st.integers(1, 3))):
            length = draw(st.integers(1, 4))
            offsets = list(range(base, base + length))
            sources.append(segment(base, offsets))
            kept += [offset for offset in offsets if draw(st.booleans())]
            base += length
        groups.append(Group(tuple(sources), segment(start, kept), base))
    return tuple(groups)


def content(segments: list[Segment]) -> Content:
    return tuple(
        (one.base_offset, tuple(found.last_offset for found in one.batches)) for one in segments
    )


def mixtures(groups: tuple[Group, ...]) -> list[Content]:
    """The logs in which the first groups, however many, are cleaned and the others are not."""
    return [
        content(
            [
                one
                for number, group in enumerate(groups)
                for one in ([group.cleaned] if number < done else group.sources)
            ]
        )
        for done in range(len(groups) + 1)
    ]


@given(swaps())
def test_with_swap_files_a_restart_finds_each_group_whole_old_or_new(
    groups: tuple[Group, ...],
) -> None:
    allowed = mixtures(groups)
    found = [content(recovered(s.directory, groups)) for s in states(groups, swap="swap_files")]

    assert set(found) <= set(allowed)
    assert (found[0], found[-1]) == (allowed[0], allowed[-1])
    steps = [allowed.index(one) for one in found if allowed.count(one) == 1]
    assert steps == sorted(steps)


DATA, ABORT = 4, 5
"""Among keys: data of a transaction of producer 7, and its end."""


def replica_of(keys: list[int], *, per_segment: int) -> Replica:
    """A replica with a record of each key, all committed and decided."""
    replica = Replica("r1", Log(LogConfig(aligned=True)))
    log = replica.log
    for offset, key in enumerate([*keys, ABORT]):
        if offset and offset % per_segment == 0:
            log.roll(now_ms=0)
        if key == ABORT:
            one = marker(offset, 7, commit=False)
        else:
            pid = 7 if key == DATA else -1
            records = (record(offset, f"k{key}", "v" if key else None, uid=1 + offset),)
            one = data_batch(records, epoch=1, producer_id=pid, transactional=key == DATA)
        log.append(one, now_ms=0)
    log.roll(now_ms=0)
    log.high_watermark = log.log_end_offset
    return replica


def known_aborted(log: Log) -> set[AbortedTransaction]:
    return {entry for each in log.segments for entry in each.aborted}


def offsets(log: Log) -> list[int]:
    return [one.offset for found in log.batches() for one in found.records]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([0, 1, DATA, ABORT]), min_size=1, max_size=12),
    st.integers(1, 4),
    st.sampled_from([*MOMENTS, *range(12)]),
    st.sampled_from(["swap_files", "new_first", "new_first", "old_first"]),
    st.sampled_from(["after_work", "before_work", "both"]),
)
def test_the_events_of_an_interrupted_pass_account_for_what_is_gone_and_the_index_for_aborted_data(
    keys: list[int], per_segment: int, during: str | int, swap: str, checkpoint: str
) -> None:
    rules = Rules.of(
        segment_swap=swap, cleaner_checkpoint=checkpoint, tombstone_removal="immediate"
    )
    cleaned, crashed = (replica_of(keys, per_segment=per_segment) for _ in range(2))
    before, aborted = offsets(crashed.log), known_aborted(crashed.log)
    end = crashed.log.log_end_offset
    Cleaner(rules).run(cleaned, upper_bound=end, now_ms=0)
    whole = list(crashed.log.batches())
    result = Cleaner(rules).run(crashed, upper_bound=end, now_ms=0, crash_during=during)
    events = result.events

    assert result.changed == (list(crashed.log.batches()) != whole)
    left = offsets(crashed.log)
    removed = [r.offset for e in events if isinstance(e, Cleaned) for r in e.removals]
    deleted = [
        removal.offset + 1
        for event in events
        if isinstance(event, Cleaned)
        for removal in event.removals
        if removal.reason == "tombstone"
    ]
    lost = [o for e in events if isinstance(e, SegmentsLost) for o in e.offsets]
    assert sorted([*left, *removed, *lost]) == before
    assert crashed.log.log_end_offset == end
    assert crashed.removed_tombstone_end == max(deleted, default=0)
    if swap == "swap_files":
        assert not lost
    if swap == "swap_files" and during in MOMENTS:
        assert left == (before if during == "cleaning" else offsets(cleaned.log))
    if not lost:
        assert known_aborted(cleaned.log) <= known_aborted(crashed.log) <= aborted
    assert crashed.first_dirty_offset == (end if checkpoint == "before_work" else 0)
    assert crashed.begun_offset == (end if checkpoint == "both" else 0)

    Cleaner(rules).run(crashed, upper_bound=end, now_ms=0, rescan=True)
    if not lost:
        assert offsets(crashed.log) == offsets(cleaned.log)


def test_an_interrupted_pass_reports_the_horizons_that_it_put_into_records() -> None:
    replica = Replica("r1", Log(LogConfig(aligned=True)))
    replica.log.append(data_batch((record(0, "k1", None),), epoch=1), now_ms=0)
    replica.log.roll(now_ms=0)
    replica.log.high_watermark = 1
    cleaner = Cleaner(Rules.of(tombstone_removal="record_horizon", delete_retention_ms=50))

    done = cleaner.run(replica, upper_bound=1, now_ms=10, crash_during="checkpoint")

    assert [one.horizons for one in done.events if isinstance(one, Cleaned)] == [((0, 60),)]
