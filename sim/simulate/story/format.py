"""The story file format, `replog-story/1`, strictly checked; JSON and YAML have one shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from sim.files import limits
from sim.files.document import (
    Complaints,
    Document,
    Fields,
    as_list,
    as_text,
    check_format,
    shown,
    tags_at,
)
from sim.files.foreign import one_line
from sim.files.formats import STORY_FORMAT
from sim.files.limits import Limit
from sim.files.reading import read_document
from sim.protocol.replication.joining import REPLICA_LAG_MAX_MS, waits_for_joining
from sim.protocol.rules import Rules
from sim.protocol.rules.replication import Awaited
from sim.simulate.scenario.runnable import Runnable, rules_at
from sim.simulate.story.expect import StoryExpect, check_labels, expect_at
from sim.simulate.story.fields import NAMES, PERIOD, REPLICAS, check_names
from sim.simulate.story.op import Scope, Step
from sim.simulate.story.ops import OPS
from sim.simulate.story.steps import check_all_written, check_meanings, labels_of, step_at

STORY_DEFAULTS = Rules.of(
    commit="isr",
    follower_position="request",
    marker_removal="horizon",
    vote_storage="none",
    leader_restart="resumes",
    delete_retention_ms=100,
    tombstone_mark="explicit",
    start_offset_lag_ms=100,
)
"""Rules from which those of a story without a preset start."""

UNDER_A_PRESET = Rules().with_values(
    {one: STORY_DEFAULTS.as_dict()[one] for one in ("delete_retention_ms", "start_offset_lag_ms")}
)
"""Rules from which those of a story with a preset start: the defaults, but for a topic's times."""


@dataclass(frozen=True, slots=True)
class Story(Runnable):
    """A story as loaded.

    Attributes:
        replicas: Names of the replicas, in order of creation.
        isr: Names of the replicas that are in sync at first.
        voters: Names of the replicas that vote.
        steps: The steps, in order.
        expect: The expectation.
        replica_lag_max_ms: Time for which a follower counts as caught up after it had all of its
            leader's log, in ms.
    """

    unit = "step"

    replicas: tuple[str, ...] = ()
    isr: tuple[str, ...] = ()
    voters: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    expect: StoryExpect = field(default_factory=StoryExpect)
    replica_lag_max_ms: int = REPLICA_LAG_MAX_MS

    @property
    def default_rules(self) -> Rules:
        """Rules of a story without rules of its own."""
        return STORY_DEFAULTS

    @property
    def asserted(self) -> tuple[str, ...]:
        """Invariants that its steps claim to hold, and that are judged in any case."""
        named = (OPS[step.op].asserts for step in self.steps)
        return tuple(dict.fromkeys(name for name in named if name is not None))


LAG = "replica_lag_max_ms"
"""Name of `replica.lag.time.max.ms`, the same as in timed scenarios."""

TOP = [
    "format",
    "id",
    "title",
    "source",
    "tags",
    "rules",
    "replicas",
    "isr",
    "voters",
    "timers",
    "steps",
    "expect",
    "note",
]


def load_story(path: Path) -> Story:
    """Reads and checks a story file.

    Raises:
        BadInput: The file cannot be read, or is not a valid story; the message names the file, the
            line, the step and the field.
    """
    return story_in(read_document(path), default_id=one_line(path.stem))


def story_from(data: object, *, where: str) -> Story:
    """The story in parsed JSON or YAML; `where` names it in errors.

    Raises:
        BadInput: As `load_story`.
    """
    return story_in(Document(where, data), default_id="story")


def story_in(document: Document, *, default_id: str) -> Story:
    """The story in a document; `default_id` is the id of one without `id`.

    Raises:
        BadInput: As `load_story`.
    """
    check_format(document, (STORY_FORMAT,))
    wrong = Complaints()
    story = _story(Fields(document.data, document.top, TOP, wrong), default_id, wrong)
    wrong.end()
    return story


def _story(top: Fields, default_id: str, wrong: Complaints) -> Story:
    """The story, which is meaningless if there are complaints."""
    rules, given, expect = STORY_DEFAULTS, top.values.get("rules", {}), StoryExpect()
    named = _text_or(top, "id", default_id, limits.NAME, wrong)
    title = _text_or(top, "title", "", limits.TITLE, wrong)
    source = _text_or(top, "source", "", limits.TITLE, wrong)
    with wrong:
        tags_at(top.values.get("tags"), top.at("tags"))
    preset = given.get("preset") if isinstance(given, dict) else None
    with wrong:
        base = STORY_DEFAULTS if preset is None else UNDER_A_PRESET
        rules = rules_at(given, top.at("rules"), base=base)
    replicas = _replicas(top, wrong)
    scope = Scope(list(replicas), sure=bool(replicas))
    isr, voters = _subset(top, "isr", scope, wrong), _subset(top, "voters", scope, wrong)
    steps = _steps(top, scope, wrong)
    if not wrong.lines:  # a wrong rule does not decide whether a field has a meaning
        check_meanings(steps, rules, top.at("steps"), wrong)
    with wrong:
        expect = expect_at(top.values.get("expect", {}), scope, top.at("expect"), wrong)
    if not wrong.lines:
        check_labels(expect, labels_of(steps), top.at("expect"), wrong)
    lag_max_ms = REPLICA_LAG_MAX_MS
    with wrong:
        lag_max_ms = _lag_max_ms(top, rules, wrong)
    return Story(
        named,
        title,
        source,
        rules,
        preset,
        expect,
        replicas=replicas,
        isr=isr,
        voters=voters,
        steps=steps,
        replica_lag_max_ms=lag_max_ms,
    )


def _lag_max_ms(top: Fields, rules: Rules, wrong: Complaints) -> int:
    """The only timer; it counts where a leader waits for followers that are about to join."""
    given = top.values.get("timers")
    if given is None:
        return REPLICA_LAG_MAX_MS
    timers = Fields(given, top.at("timers"), [LAG], wrong)
    if not waits_for_joining(rules):
        allowed = " or ".join(name for name in get_args(Awaited) if name != "in_sync_set")
        top.fail(
            "timers",
            f"nothing goes by them without high_watermark_waits_for: {allowed}, commit: isr",
        )
    found: int = PERIOD.value_of(timers.values.get(LAG, REPLICA_LAG_MAX_MS), timers.at(LAG))
    return found


def _steps(top: Fields, scope: Scope, wrong: Complaints) -> tuple[Step, ...]:
    place = top.at("steps")
    steps: list[Step] = []
    with wrong:
        listed = as_list(top.values.get("steps", []), place)
        place.check(limits.STEPS.too_many(len(listed), "steps"))
        if not listed and ("steps" in top.values or not wrong.lines):
            place.fail("no steps; a story needs one at least")
        for number, raw in enumerate(listed, start=1):
            at = place.at(number - 1, label=f"step {number}")
            with wrong:
                steps.append(step_at(raw, number, scope, at))
            if wrong.enough:
                break
        if len(steps) == len(listed):
            check_all_written(steps, place, wrong)
    return tuple(steps)


def _replicas(top: Fields, wrong: Complaints) -> tuple[str, ...]:
    """Names of the replicas; empty if they are wrong."""
    with wrong:
        names = _names(top, "replicas")
        if len(set(names)) != len(names):
            top.fail("replicas", "a name is given twice")
        return names
    return ()


def _subset(top: Fields, name: str, scope: Scope, wrong: Complaints) -> tuple[str, ...]:
    """Names of the replicas that a field lists; all of them without the field."""
    with wrong:
        if name in top.values:
            names = _names(top, name)
            if scope.sure:
                check_names(REPLICAS, names, scope.known, top.at(name))
            return names
    return tuple(scope.known)


def _names(top: Fields, name: str) -> tuple[str, ...]:
    """The names that a field lists. Raises BadInput without any."""
    if name not in top.values:
        top.fail(name, "missing; a list of names")
    value = top.values[name]
    if not isinstance(value, list) or not value:
        top.fail(name, f"expected a list of names, not {shown(value)}")
    names: tuple[str, ...] = NAMES.value_of(value, top.at(name))
    return names


def _text_or(top: Fields, name: str, default: str, limit: Limit, wrong: Complaints) -> str:
    with wrong:
        text = as_text(top.values.get(name, default), top.at(name))
        top.at(name).check(limit.too_many(len(text), "characters"))
        return text
    return default
