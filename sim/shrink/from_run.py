"""From a timed run to a story of single steps that violates the same invariant.

The story takes the steps of the whole run, and to leave out what does not matter is the work of the
shrinker. It need not be right: it is judged by running it, and where it does not violate the same
for the same cause it is told in another way. When all are wrong there is no story: what decides may
be something that stories cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Final, NamedTuple

from sim.explain import mechanisms as of
from sim.explain.signature import Signature, signature_of
from sim.rules import Rules
from sim.scenario.model import Scenario
from sim.shrink.engine import Shown
from sim.shrink.liberties import lawful
from sim.shrink.retelling import Retelling
from sim.shrink.sought import Cause, Events, Sought, rules_of, watched
from sim.shrink.story_edit import with_steps
from sim.story.driver import StoryDriver
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.trace import LeaderElected, ReplicaAdded

UNTELLABLE: Final = {
    of.BY_OTHER_SETTINGS: "settings do not change in the midst of a story",
    of.CLOCK_AHEAD: "a story has one clock",
    of.EXPIRED: "no step of a story deletes by age or size",
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
    reads = any(word in violation.invariant for word in ("consumer", "read"))
    for exact, of_story in product((True, False), _rules_of_story(rules)):
        driver = StoryDriver(_beginning(past, of_story), invariants=(sought.invariant,))
        telling = Retelling(driver, past, rules, reads=reads, exact=exact)
        with suppress(ValueError):  # a log refuses what no leader would send: this is no story
            moments = watched(driver, map(telling.on, [event for _, event in past]))
            found = sought.first_of(moments, driver.story)
            if found is not None:
                story = with_steps(driver.story, telling.steps[: found.violation.at])
                words = "the run" if exact else "the run, as far as it goes"
                return FoundStory(sought.keeping(story), found._replace(value=story), words)
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


def _beginning(past: Events, rules: Rules) -> Story:
    """The replicas there are before the first leader, and whom it begins with."""
    replicas: list[str] = []
    isr: tuple[str, ...] = ()
    voters: tuple[str, ...] = ()
    for _, event in past:
        if isinstance(event, LeaderElected):
            isr, voters = event.isr, event.voters
            break
        if isinstance(event, ReplicaAdded):
            replicas.append(event.replica)
    names = tuple(replicas)
    return Story("story", "", "", rules, names, isr or names, voters or names, (), StoryExpect())
