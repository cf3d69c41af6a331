"""Converts a timed run to a story of single steps that violates the same invariant.

The story takes steps for the whole run; the shrinker leaves out the irrelevant ones. The story is
run to check that it violates the same for the same cause. If it does not, there is no story:
stories may lack the steps for it.

A step is added only if the story is not in that state already: its own rules decide what a fetch
brings or a quorum elects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import starmap, takewhile
from operator import attrgetter
from typing import Any, Final, TypeAlias

from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.questions import Signature
from sim.diagnose.shrink.engine import ShownTarget
from sim.diagnose.shrink.stories import OFFSETS, with_steps
from sim.diagnose.shrink.target import ELECTIONS, Target, illegal_steps, rules_of, watched
from sim.protocol import events as on
from sim.protocol.compaction.strategies import ENCODERS, VERSION_HEADER_BYTES, decode_varint
from sim.protocol.events import NAMES, REBUILT, Event
from sim.protocol.log import Batch, Control, Record
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import stable_offset
from sim.protocol.replication.elections import wins
from sim.protocol.replication.interrupting import SWAP
from sim.protocol.replication.joining import waits_for_joining
from sim.protocol.rules import Rules
from sim.simulate.faults import ROLES, Crash
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.fields import REPLICA
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step
from sim.simulate.story.ops import OPS

NOT_IN_STORIES: Final = {
    of.BY_OTHER_SETTINGS: "settings do not change during a story",
    of.CLOCK_AHEAD: "a story has one clock",
    of.EXPIRED: "no step of a story deletes by age or size",
}
"""Mechanism that no story can show -> the reason."""


def why_no_story(signature: Signature) -> str | None:
    """The reason why no story can show a violation with this signature; None if one may."""
    return next(filter(None, map(NOT_IN_STORIES.get, signature.mechanism)), None)


def story_from_run(
    shown: ShownTarget[Scenario], signature: Signature
) -> tuple[Target[Story], ShownTarget[Story]] | None:
    """Converts a timed run to a story that violates the same invariant for the same cause.

    Args:
        shown: The run and its violation.
        signature: Signature of the violation.

    Returns:
        The target, which allows the illegal steps of the run, and the story, whose last step shows
        it. None if the story does not show the same.
    """
    invariant, rules = shown.violation.invariant, rules_of(shown.value)
    allowed = frozenset(illegal_steps(shown.events, rules))
    target: Target[Story] = Target(invariant, signature, allowed, from_run=True)
    driver = StoryDriver(_beginning(shown, rules), invariants=(invariant, *ELECTIONS))
    conversion = Conversion(driver, shown)
    with suppress(ValueError):  # a log refuses a batch that no leader would send
        moments = watched(driver, starmap(conversion.take, shown.events))
        found = target.found_in(driver.story, moments)
        if found is not None:
            story = with_steps(driver.story, conversion.steps[: found.violation.at])
            return target, found._replace(value=story)
    return None


def _beginning(shown: ShownTarget[Scenario], rules: Rules) -> Story:
    """The start of the story: the replicas before the first election, its voters, and the rules.

    Under `tombstone_mark: null_value` deletes are marked explicitly instead.
    """
    past = shown.events
    if rules.cleaner.tombstone_mark == "null_value":
        rules = rules.with_values({"tombstone_mark": "explicit"})
    first = next((event for _, event in past if isinstance(event, on.LeaderElected)), None)
    before = takewhile(lambda pair: pair[1] is not first, past)
    names = tuple(event.replica for _, event in before if isinstance(event, on.ReplicaAdded))
    isr, voters = (names, names) if first is None else (first.isr, first.voters)
    story = Story("story", rules=rules, replicas=names, isr=isr or names, voters=voters or names)
    return replace(story, replica_lag_max_ms=shown.value.timers.replica_lag_max_ms)


_AT_ONCE = 3
"""Largest number of fetches for one copy of the run."""
_MARKERS = {Control.COMMIT: "commit", Control.ABORT: "abort"}
_SUFFIX: Final = {kind: re.sub("([A-Z])", r"_\1", name).lower() for kind, name in NAMES.items()}
"""Class of an event -> suffix of the methods of `Conversion` that take it."""
_READING: Final = (on.Consumed, on.ReadingEnded)


_SAME: Final[dict[type, tuple[str, dict[str, str]]]] = {
    on.RemovalBoundMoved: ("coordinate", {}),
    on.SnapshotTaken: ("snapshot", {"replica": "replica", "end": "end_offset"}),
    on.PrefixDeleted: ("delete_prefix", {"replica": "replica", "to": "log_start_offset"}),
    on.ReplicaRemoved: ("remove_replica", {"replica": "replica"}),
    on.ReplicaRestarted: ("restart", {"replica": "replica"}),
    on.ReadingEnded: ("read_to_end", {n: n for n in ("consumer", "replica", "until")}),
}
"""Class of an event that needs one step -> the op, and its fields by the names of the event's."""

Pair: TypeAlias = tuple[Replica, Replica]
"""A follower and its leader."""


class Conversion:
    """The conversion of a run to a story, event by event.

    An event that needs steps and is not in `_SAME` has a method that ends in its name: `_at…` takes
    the event's replica, `_of…` its follower and leader, if in the story both are up and the leader
    leads. `take` itself deals with new replicas and with rest. No other event needs a step.

    Attributes:
        driver: Driver of the story so far.
        replicas: Name -> replica of the story.
        steps: Steps taken so far.
        rules: Rules of the run.
    """

    def __init__(self, driver: StoryDriver, shown: ShownTarget[Scenario]) -> None:
        """Starts a story without steps.

        Args:
            driver: Driver of the story.
            shown: The run and its violation.
        """
        self.driver, self.replicas, self.rules = driver, driver.replicas, rules_of(shown.value)
        self.steps: list[Step] = []
        self._at_ms = 0
        self._reads = any(word in shown.violation.invariant for word in ("consumer", "read"))
        self._followed: set[tuple[str, str, int]] = set()
        self._amid_passes = _amid_passes(shown)
        self._commits: set[int] = set()
        if waits_for_joining(self.rules):
            for at, event in shown.events:
                if isinstance(event, on.HighWatermarkMoved) and event.leading:
                    self._commits.add(at)

    def take(self, now_ms: int, event: Any) -> None:
        """Takes the steps that an event of the run needs.

        Time passes before a high watermark moves if that depends on `replica.lag.time.max.ms`.
        """
        self._at_ms = now_ms
        if now_ms in self._commits:
            self.until(now_ms)
        if isinstance(event, _READING) and not self._reads:
            return
        suffix, same = _SUFFIX[type(event)], _SAME.get(type(event))
        pair, replica = self._pair_of(event), self.replicas.get(event.replica or "")
        if same is not None and replica is not None:
            self._same(event, replica, *same)
        elif pair is not None and hasattr(self, f"_of{suffix}"):
            getattr(self, f"_of{suffix}")(event, pair)
        elif replica is not None and hasattr(self, f"_at{suffix}"):
            getattr(self, f"_at{suffix}")(event, replica)
        elif isinstance(event, on.ReplicaAdded) and replica is None:
            self.step("add_replica", replica=event.replica)
        elif isinstance(event, on.Quiesced):
            self.step("quiesce" if event.synced else "check")

    def _same(self, event: Any, replica: Replica, op: str, names: Mapping[str, str]) -> None:
        """Takes a step with the fields of an event, and the story's own offsets."""
        fields = {name: getattr(event, field) for name, field in names.items()}
        here = {name: held_at(replica, fields[name]) for name in OFFSETS & fields.keys()}
        self.step(op, **(fields | here))

    def _pair_of(self, event: Any) -> Pair | None:
        """The follower and leader of an event; the story's leader if the event names none."""
        follower = getattr(event, "follower", None)
        if follower is not None:
            return self.pair(follower, event.replica)
        return self.pair(event.replica, getattr(event, "leader", self.driver.leader))

    def pair(self, follower: str, leader: str | None) -> Pair | None:
        """The two replicas, if both are up in the story and the leader leads; else None."""
        fetcher, source = self.replicas.get(follower), self.replicas.get(leader or "")
        if fetcher is None or source is None or fetcher is source:
            return None
        ready = fetcher.up and source.up and source.leadership is not None
        return (fetcher, source) if ready else None

    def step(self, op: str, **fields: Any) -> None:
        """Takes one step if its replicas can; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        for name, field in OPS[op].fields.items():
            if field.kind is REPLICA and field.must and field.must(self.replicas[given[name]]):
                return
        step = Step(len(self.steps) + 1, op, given)
        self.steps.append(step)
        self.driver.take(step)

    def until(self, now_ms: int) -> None:
        """Lets time pass up to a moment, if that is in the future."""
        if now_ms > self.driver.now_ms:
            self.step("advance", ms=now_ms - self.driver.now_ms)

    def follow(self, pair: Pair) -> None:
        """Takes the step by which a follower begins to follow, if the rules have one."""
        mode, leadership = self.rules.replication.truncation, pair[1].leadership
        if mode not in ("high_watermark", "epoch_kip101", "epoch_kip279") or leadership is None:
            return
        known = (pair[0].name, pair[1].name, leadership.epoch)
        if known not in self._followed:
            self._followed.add(known)
            self.step("follow", follower=pair[0].name, leader=pair[1].name)

    def fetch(self, pair: Pair, most: int | None = None) -> None:
        """Fetches once, `most` batches at most; the leader records the follower's position."""
        self.follow(pair)
        self.step("fetch", follower=pair[0].name, leader=pair[1].name, max=most)

    # Writing.

    def _at_appended(self, event: on.Appended, replica: Replica) -> None:
        batch, leadership = event.batch, replica.leadership
        zombie = leadership is None or leadership.epoch != batch.epoch
        epoch = batch.epoch if zombie else None
        for fields in self._written(batch):
            self.step("append", leader=replica.name, **fields, epoch=epoch)

    def _written(self, batch: Batch) -> list[dict[str, Any]]:
        if batch.control is not None:
            marker = _MARKERS.get(batch.control)
            return [{"marker": marker, "pid": batch.producer_id}] if marker else []
        pid = batch.producer_id if batch.transactional else None
        rules, story = self.rules, self.driver.rules
        return [fields_of(record, rules, story) | {"pid": pid} for record in batch.records]

    # Leading.

    def _at_leader_elected(self, event: on.LeaderElected, candidate: Replica) -> None:
        self.step("restart", replica=event.replica)  # if it is down
        by_isr, is_first = self.rules.replication.commit == "isr", self.driver.leader is None
        in_sync = by_isr and event.replica in self.driver.isr
        op = "elect_from_isr" if in_sync and not is_first else "elect"
        if in_sync and self._commits:  # the members that the leader waits for
            self._set_isr(event.isr)
        votes = None if by_isr or is_first else self._votes(candidate, event.epoch)
        self.step(op, leader=event.replica, epoch=event.epoch, votes=votes)
        if by_isr:
            self._set_isr(event.isr)

    def _votes(self, candidate: Replica, epoch: int) -> tuple[str, ...] | None:
        """The voters that elect the candidate in the story, beside itself.

        None if it loses, or needs no other.
        """
        voters = self.driver.story.voters
        asked = [self.replicas[name] for name in voters if name in self.replicas]
        rules = self.driver.rules
        granting = wins(candidate, asked, voter_count=len(voters), epoch=epoch, rules=rules)
        ranked = sorted(granting or (), key=lambda voter: voter.leadership is not None)
        return tuple(voter.name for voter in ranked[: len(voters) // 2]) or None

    def _set_isr(self, isr: tuple[str, ...]) -> None:
        known = tuple(name for name in isr if name in self.replicas)
        if set(known) != set(self.driver.isr):
            self.step("isr", isr=known)

    def _at_isr_changed(self, event: on.IsrChanged, leader: Replica) -> None:
        if leader.name != self.driver.leader:
            return
        if event.joined is None or event.joined in self.driver.isr:
            self._set_isr(event.isr)
        elif event.joined in self.replicas:
            pair = self.pair(event.joined, leader.name)
            if pair is not None and self._known(pair) < pair[0].log.log_end_offset:
                self.fetch(pair, 0)
            self.step("expand_isr", replica=event.joined)

    def _known(self, pair: Pair) -> int:
        """The position that the leader recorded for its follower; -1 without one."""
        leadership = pair[1].leadership
        return -1 if leadership is None else leadership.positions.get(pair[0].name, -1)

    # Following.

    def _of_position_recorded(self, event: on.PositionRecorded, pair: Pair) -> None:
        if self._known(pair) != held_at(pair[1], event.position):
            self.fetch(pair, 0)

    def _of_copied(self, event: on.Copied | on.GapLearned, pair: Pair) -> None:
        """Fetches until the follower has the leader's batches below a bound of the run."""
        (fetcher, source), bound = pair, event.log_end_offset
        for _ in range(_AT_ONCE):
            end = fetcher.log.log_end_offset
            wanted = held_at(source, bound)
            if end >= wanted:
                return
            most = count(source, end, bound)
            self.fetch(pair, None if most == count(source, end) else most)
            if not most or fetcher.log.log_end_offset >= max(wanted, end + 1):
                return

    _of_gap_learned = _of_copied

    def _of_truncated(self, event: on.Truncated, pair: Pair) -> None:
        target = event.target if event.lowest is None else event.lowest
        end = pair[0].log.log_end_offset
        # The batch at the log end may have been removed: then its offset is not comparable.
        if end <= held_at(pair[0], target) and end <= pair[1].log.log_end_offset:
            return
        by_fetch = self.rules.replication.truncation == "epoch_diverging"
        self.follow(pair)
        if by_fetch or pair[0].log.log_end_offset > pair[1].log.log_end_offset:  # out of range
            self.fetch(pair)

    def _of_high_watermark_moved(self, event: on.HighWatermarkMoved, pair: Pair) -> None:
        log, known = pair[0].log, pair[0].log.high_watermark
        wanted = held_at(pair[0], event.high_watermark)
        has_news = known < wanted <= log.log_end_offset and pair[1].log.high_watermark > known
        if has_news and not event.leading:
            self.fetch(pair, 0)

    # Cleaning.

    def _at_cleaned(self, event: on.Cleaned, replica: Replica) -> None:
        self.until(event.now_ms)
        ripe = [each for each in event.removals if each.reason in ("tombstone", "marker")]
        offsets = {held_at(replica, each.offset) for each in ripe}
        batches = [batch for batch in replica.log.batches() if batch.base_offset in offsets]
        self.until(max((batch.delete_horizon_ms or 0 for batch in batches), default=0))
        bound = held_at(replica, event.upper_bound)
        fields: dict[str, Any] = {}
        if self.rules.cleaner.tombstone_removal == "last_modified" and ripe:
            fields = {"legacy_horizon": 1, "segments": ((0, bound, 0),)}
        if bound < stable_offset(replica, rules=self.driver.rules):
            fields["upto"] = bound
        crash = self._amid_passes.get((self._at_ms, replica.name))
        self.step("compact", replica=replica.name, **fields, crash=crash)

    # Crashes and restarts.

    def _at_fault_injected(self, event: on.FaultInjected, replica: Replica) -> None:
        moment = self._amid_passes.get((self._at_ms, replica.name))
        if event.fault == Crash.kind and moment is not None:  # of a pass that left no event
            self.step("compact", replica=replica.name, crash=moment)

    def _at_replica_crashed(self, event: on.ReplicaCrashed, replica: Replica) -> None:
        lost = count(replica, event.log_end_offset)
        self.step("crash", replica=replica.name, lose=lost or None)

    def _at_replica_wiped(self, event: on.ReplicaWiped, replica: Replica) -> None:
        if event.reason != REBUILT:
            self.step("wipe", replica=replica.name)

    # Copies of snapshots, and reading.

    def _of_snapshot_offered(self, _: Event, pair: Pair) -> None:
        if pair[0].download is None:
            self.step("fetch", follower=pair[0].name, leader=pair[1].name)

    _of_log_emptied = _of_snapshot_offered

    def _of_snapshot_chunk_fetched(self, event: Any, pair: Pair) -> None:
        if pair[0].download is not None:
            in_bytes = getattr(event, "in_bytes", True)
            names = {"follower": pair[0].name, "leader": pair[1].name}
            self.step("fetch_snapshot", **names, chunk=None if in_bytes else event.entries or None)

    _of_snapshot_installed = _of_snapshot_chunk_fetched

    def _at_consumed(self, event: on.Consumed, replica: Replica) -> None:
        self.until(event.now_ms)
        end = held_at(replica, event.end)
        upto = end if end < replica.log.high_watermark else None
        isolation = "read_committed" if event.committed else None
        names = {"consumer": event.consumer, "replica": replica.name}
        self.step("consume", **names, upto=upto, isolation=isolation)


def _amid_passes(shown: ShownTarget[Scenario]) -> dict[tuple[int, str], str]:
    """(time, replica) of each crash during a cleaning pass -> its moment, as its fault has it.

    Such a fault waits for the next pass of its replica. A number of file operations becomes the
    moment of the swap.
    """
    crashes = [fault for fault in shown.value.faults if isinstance(fault, Crash)]
    found: dict[tuple[int, str], str] = {}
    for at, event in shown.events:
        if not isinstance(event, on.FaultInjected) or event.fault != Crash.kind:
            continue
        own = [each for each in crashes if each.target in (event.replica, *ROLES)]
        at_once = any(each.during is None and each.at_ms == at for each in own)
        waiting = [each for each in own if each.during not in (None, "install")]
        last = max(
            (each for each in waiting if each.at_ms <= at), key=attrgetter("at_ms"), default=None
        )
        if last is not None and not at_once:
            crashes.remove(last)
            moment = last.during
            found[at, event.replica] = moment if isinstance(moment, str) else SWAP
    return found


def held_at(replica: Replica, bound: int) -> int:
    """The base offset of the first batch at or above an offset, else the log end."""
    bases = (batch.base_offset for batch in replica.log.batches())
    return next((base for base in bases if base >= bound), replica.log.log_end_offset)


def count(replica: Replica, since: int, below: int | None = None) -> int:
    """The number of batches with a base offset from `since` on, and below a bound if given."""
    bases = [batch.base_offset for batch in replica.log.batches()]
    return sum(since <= base and (below is None or base < below) for base in bases)


def fields_of(record: Record, rules: Rules, story: Rules) -> dict[str, Any]:
    """The fields of an `append` step that writes a record of a run again.

    Args:
        record: The record.
        rules: Rules of the run, which define its tombstones.
        story: Rules of the story, which define tombstones and the version that decides.
    """
    fields: dict[str, Any] = {"label": f"u{record.uid}", "key": record.key}
    if story.cleaner.strategy == "timestamp":
        fields["ts"] = record.timestamp_ms
    elif story.cleaner.strategy != "offset":
        fields |= _version(record, story)
    by_flag = record.flagged and rules.cleaner.tombstone_mark != "null_value"
    if story.cleaner.tombstone_mark == "explicit":
        return fields | ({"tombstone": True} if record.value is None or by_flag else {})
    return fields | ({"flag": True} if record.flagged else {})


def _version(record: Record, rules: Rules) -> dict[str, Any]:
    """The fields for the last two version headers of a record: `hdr`, `hdr_bytes`, both or none.

    `hdr` is the number of the first, if `rules` write it as these bytes; `hdr_bytes` is the last.
    """
    own = [value for name, value in record.headers if name == rules.topic.strategy_header][-2:]
    first = _number(own[0], rules.cleaner.header_form) if own else None
    number = {} if first is None else {"hdr": first}
    return number if len(own) == len(number) else {**number, "hdr_bytes": own[-1]}


def _number(value: bytes, form: str) -> int | None:
    """The number that a story would write as these bytes; None without one."""
    fixed = int.from_bytes(value[:VERSION_HEADER_BYTES], "big", signed=True)
    known = [number for number in (fixed, decode_varint(value)) if number is not None]
    return next((number for number in known if ENCODERS[form](number) == value), None)
