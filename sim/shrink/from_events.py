"""From the events of a timed run to a story of single steps that breaks the same law.

A random run writes hundreds of records of which a few matter. So several stories are made of it,
the smallest choice of records first, and each is judged by running it: the first one that breaks
the law for the same cause is the result. None of them has to be right for that, and when all are
wrong there is no story: what decides may be something that stories cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sim.check import Violation
from sim.explain.causality import causal_cone
from sim.explain.mechanisms import BY_OTHER_SETTINGS, CLOCK_AHEAD, EXPIRED
from sim.explain.signature import Signature, signature_of
from sim.rules import Rules
from sim.shrink.from_events_making import Choice
from sim.shrink.from_events_steps import Translation
from sim.shrink.liberties import lawful, liberties
from sim.shrink.story_edit import with_steps
from sim.shrink.story_shows import Cause
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.trace import Appended, Cleaned, Event, LeaderElected, ReplicaAdded

UNTELLABLE: Final = {
    BY_OTHER_SETTINGS: "settings do not change in the midst of a story",
    CLOCK_AHEAD: "a story has one clock",
    EXPIRED: "no step of a story deletes by age or size",
}
"""Facts of a signature that no story shows, and why."""

TimedEvents = Sequence[tuple[int, Event]]
"""(ms, event) in the order in which it happened."""


class FoundStory(NamedTuple):
    """A story that breaks the law of a run.

    Attributes:
        story: Its last step breaks it.
        violation: What it breaks; `at` is the number of that step.
        choice: What of the run it was made of, in words.
        cause_of: What told its cause: shrink it by this one, and it takes no liberty that the run
            did not take (`sim.shrink.liberties`).
    """

    story: Story
    violation: Violation
    choice: str
    cause_of: Cause


def why_untellable(signature: Signature) -> str | None:
    """Why no story shows a violation with this signature; None = one may."""
    return next((UNTELLABLE[fact] for fact in signature.mechanism if fact in UNTELLABLE), None)


def story_from_events(
    events: TimedEvents,
    violation: Violation,
    rules: Rules,
    *,
    cause_of: Cause = signature_of,
) -> FoundStory | None:
    """A story that breaks the same law as a timed run, for the same cause.

    Args:
        events: Of the run, from its beginning.
        violation: One that the run found.
        rules: What the run was judged by.
        cause_of: What tells causes apart.

    Returns:
        The first one that does, of some that are tried in turn; None = none does.
    """
    past = [(at, event) for at, event in events if at <= violation.at]
    cause_of = lawful(cause_of, liberties(past, rules))
    cause = cause_of(past, violation, rules)
    for words, choice in _choices(past, violation):
        for of_story in _rules_of_story(rules):
            found = _try(past, violation, (rules, of_story), choice, cause_of, cause)
            if found is not None:
                return FoundStory(found[0], found[1], words, cause_of)
    return None


def _rules_of_story(rules: Rules) -> Iterator[Rules]:
    """Rules to tell the run under; what is broken under any of them is broken.

    A delete is marked as such, where all agree what one is. And a leader waits for its in-sync set
    alone: a story has no replica.lag.time.max.ms, so whoever was caught up once would stay so.
    """
    if rules.cleaner.tombstone_mark == "null_value":
        rules = rules.with_values({"tombstone_mark": "explicit"})
    yield rules
    if rules.replication.high_watermark_waits_for != "in_sync_set":
        yield rules.with_values({"high_watermark_waits_for": "in_sync_set"})


def _try(
    past: TimedEvents,
    violation: Violation,
    rules: tuple[Rules, Rules],
    choice: Choice,
    cause_of: Cause,
    cause: object,
) -> tuple[Story, Violation] | None:
    """The story of one choice up to where it breaks the law for that cause.

    `rules` are those of the run and those of the story.
    """
    of_run, story_rules = rules
    story = _beginning(past, story_rules)
    made = Translation(story, past, rules=of_run, choice=choice, invariants=(violation.invariant,))
    driver, seen = made.driver, 0
    for _, event in past:
        try:
            made.on(event)
        except ValueError:  # a log refuses what no leader would send: this is no story of the run
            return None
        violations = driver.checker.violations
        while seen < len(violations):
            found = violations[seen]
            if cause_of(driver.events, found, story_rules) == cause:
                return with_steps(story, made.steps[: found.at]), found
            seen += 1
    return None


def _beginning(past: TimedEvents, rules: Rules) -> Story:
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


def _choices(past: TimedEvents, violation: Violation) -> Iterator[tuple[str, Choice]]:
    """What to make stories of, the smallest choice first."""
    seen: set[Choice] = set()
    readers = any(word in violation.invariant for word in ("consumer", "reader", "read"))
    for words, records in _records(past, violation):
        for exact in (True, False):
            choice = Choice(records, readers, exact)
            if choice not in seen:
                seen.add(choice)
                yield f"{words}{'' if exact else ', as far as it goes'}", choice


def _records(
    past: TimedEvents, violation: Violation
) -> Iterator[tuple[str, frozenset[int] | None]]:
    keys = _keys(past, violation)
    marked = _transaction_of(past, violation)
    if marked:
        yield "the records of the producer", marked
    yield "the records of the key", _of_keys(past, keys) | marked
    cone = frozenset(causal_cone(past, violation))
    led = [event for place, (_, event) in enumerate(past) if place in cone]
    written = frozenset(
        record.uid for event in led if isinstance(event, Appended) for record in event.batch.records
    )
    yield "the records that led to it", written
    yield "the records of these keys", _of_keys(past, _keys_of(past, written))
    removed = frozenset(
        r.uid for event in led if isinstance(event, Cleaned) for r in event.removals
    )
    yield "what was removed on the way", written | removed
    yield "all records", None


def _transaction_of(past: TimedEvents, violation: Violation) -> frozenset[int]:
    """If the violation is about a marker: what its producer wrote in transactions."""
    written = [event.batch for _, event in past if isinstance(event, Appended)]
    producers = {
        batch.producer_id
        for batch in written
        if batch.control is not None and batch.base_offset == violation.offset
    }
    return frozenset(
        record.uid
        for batch in written
        if batch.transactional and batch.producer_id in producers and batch.control is None
        for record in batch.records
    )


def _keys(past: TimedEvents, violation: Violation) -> frozenset[str | None]:
    """The key that the violation names, or those of all records at its offset."""
    if violation.key is not None:
        return frozenset((violation.key,))
    return frozenset(
        record.key
        for _, event in past
        if isinstance(event, Appended)
        for record in event.batch.records
        if record.offset == violation.offset
    )


def _keys_of(past: TimedEvents, uids: frozenset[int]) -> frozenset[str | None]:
    return frozenset(
        record.key
        for _, event in past
        if isinstance(event, Appended)
        for record in event.batch.records
        if record.uid in uids
    )


def _of_keys(past: TimedEvents, keys: frozenset[str | None]) -> frozenset[int]:
    return frozenset(
        record.uid
        for _, event in past
        if isinstance(event, Appended)
        for record in event.batch.records
        if record.key in keys
    )
