"""From a timed run to a story of single steps that violates the same invariant.

A random run writes hundreds of records of which a few matter. So several stories are made of it,
the smallest choice of records first, and each is judged by running it: the first one that violates
the invariant for the same cause is the result. None of them has to be right for that, and when all
are wrong there is no story: what decides may be something that stories cannot say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from sim.check import Violation
from sim.explain.causality import causal_cone
from sim.explain.signature import Signature, signature_of
from sim.log import Record
from sim.rules import Rules
from sim.scenario.model import Scenario
from sim.shrink.engine import Shown
from sim.shrink.liberties import lawful
from sim.shrink.retelling import Retelling
from sim.shrink.sought import Cause, Events, Sought, rules_of, watched
from sim.shrink.story_edit import with_steps
from sim.shrink.telling import Choice
from sim.story.driver import StoryDriver
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.trace import Appended, Cleaned, LeaderElected, ReplicaAdded

UNTELLABLE: Final = {
    "cleaned under other settings": "settings do not change in the midst of a story",
    "clock ahead": "a story has one clock",
    "old segments deleted": "no step of a story deletes by age or size",
}
"""Facts of a signature that no story shows, and why."""


class FoundStory(NamedTuple):
    """A story that violates the invariant of a run.

    Attributes:
        sought: What it shows: shrink it by this, and it takes no liberty that the run did not take
            (`sim.shrink.liberties`).
        shown: The story; its last step shows it.
        choice: What of the run it was made of, in words.
    """

    sought: Sought[Story]
    shown: Shown[Story]
    choice: str


def why_untellable(signature: Signature) -> str | None:
    """Why no story shows a violation with this signature; None = one may."""
    return next((UNTELLABLE[fact] for fact in signature.mechanism if fact in UNTELLABLE), None)


def story_from_run(shown: Shown[Scenario], *, cause_of: Cause = signature_of) -> FoundStory | None:
    """A story that violates the same invariant as a timed run, for the same cause.

    Returns:
        The first one that does, of some that are tried in turn; None = none does.
    """
    past, violation, rules = shown.events, shown.violation, rules_of(shown.value)
    cause_of = lawful(cause_of, past, rules)
    cause = cause_of(past, violation, rules)
    sought: Sought[Story] = Sought(violation.invariant, cause, cause_of)
    for words, choice in _choices(past, violation):
        for of_story in _rules_of_story(rules):
            found = _retold(past, (rules, of_story), choice, sought)
            if found is not None:
                return FoundStory(sought.keeping(found.value), found, words)
    return None


def _rules_of_story(rules: Rules) -> Iterator[Rules]:
    """Rules to tell the run under; what is violated under any of them is violated.

    A delete is marked as such, where all agree what one is. And a leader waits for its in-sync set
    alone: a story has no replica.lag.time.max.ms, so whoever was caught up once would stay so.
    """
    if rules.cleaner.tombstone_mark == "null_value":
        rules = rules.with_values({"tombstone_mark": "explicit"})
    yield rules
    if rules.replication.high_watermark_waits_for != "in_sync_set":
        yield rules.with_values({"high_watermark_waits_for": "in_sync_set"})


def _retold(
    past: Events, rules: tuple[Rules, Rules], choice: Choice, sought: Sought[Story]
) -> Shown[Story] | None:
    """The story of one choice, told up to where it shows what is sought.

    `rules` are those of the run and those of the story. None = it does not show it before a log
    refuses what no leader would send.
    """
    of_run, of_story = rules
    story = _beginning(past, of_story)
    driver = StoryDriver(story, invariants=(sought.invariant,))
    telling = Retelling(driver, past, of_run, choice)
    with suppress(ValueError):
        moments = watched(driver, map(telling.on, [event for _, event in past]))
        found = sought.first_of(moments, story)
        if found is not None:
            steps = telling.steps[: found.violation.at]
            return found._replace(value=with_steps(story, steps))
    return None


def _beginning(past: Events, rules: Rules) -> Story:
    """The replicas there are before the first leader, and whom it begins with."""
    replicas: list[str] = []
    for _, event in past:
        if isinstance(event, ReplicaAdded):
            replicas.append(event.replica)
        elif isinstance(event, LeaderElected):
            return _empty(rules, tuple(replicas), event.isr, event.voters)
    return _empty(rules, tuple(replicas), tuple(replicas), tuple(replicas))


def _empty(
    rules: Rules, replicas: tuple[str, ...], isr: tuple[str, ...], voters: tuple[str, ...]
) -> Story:
    return Story("story", "", "", rules, replicas, isr, voters, (), StoryExpect())


def _choices(past: Events, violation: Violation) -> Iterator[tuple[str, Choice]]:
    """What to make stories of, the smallest choice first."""
    seen: set[Choice] = set()
    reads = any(word in violation.invariant for word in ("consumer", "reader", "read"))
    for words, records in _records(past, violation):
        for exact in (True, False):
            choice = Choice(records, reads, exact)
            if choice not in seen:
                seen.add(choice)
                yield f"{words}{'' if exact else ', as far as it goes'}", choice


def _records(past: Events, violation: Violation) -> Iterator[tuple[str, frozenset[int] | None]]:
    written = [record for _, event in past for record in _records_in(event)]
    own = {violation.key}
    if violation.key is None:
        own = {record.key for record in written if record.offset == violation.offset}
    marked = _transaction_of(past, violation)
    if marked:
        yield "the records of the producer", marked
    yield "the records of the key", _of_keys(written, own) | marked
    cone = frozenset(causal_cone(past, violation))
    led = [event for place, (_, event) in enumerate(past) if place in cone]
    leading = [record for event in led for record in _records_in(event)]
    uids = frozenset(record.uid for record in leading)
    yield "the records that led to it", uids
    yield "the records of these keys", _of_keys(written, {record.key for record in leading})
    removals = [
        removal for event in led if isinstance(event, Cleaned) for removal in event.removals
    ]
    yield "what was removed on the way", uids | {removal.uid for removal in removals}
    yield "all records", None


def _records_in(event: object) -> tuple[Record, ...]:
    return event.batch.records if isinstance(event, Appended) else ()


def _of_keys(records: Iterable[Record], keys: set[str | None]) -> frozenset[int]:
    return frozenset(record.uid for record in records if record.key in keys)


def _transaction_of(past: Events, violation: Violation) -> frozenset[int]:
    """If the violation is about a marker: what its producer wrote in transactions."""
    written = [event.batch for _, event in past if isinstance(event, Appended)]
    producers = {
        batch.producer_id
        for batch in written
        if batch.control is not None and batch.base_offset == violation.offset
    }
    own = [b for b in written if b.transactional and b.producer_id in producers]
    return frozenset(record.uid for b in own if b.control is None for record in b.records)
