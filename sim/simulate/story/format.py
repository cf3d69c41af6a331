"""The story file format, `replog-story/1`, strictly checked; JSON and YAML have one shape.

A step is read and checked in `sim.simulate.story.steps`, and defined in `sim.simulate.story.ops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypedDict, get_args, get_type_hints

import msgspec

from sim.check.registry import INVARIANTS, discover
from sim.files import limits
from sim.files.document import (
    Complaints,
    Document,
    Fields,
    Place,
    as_list,
    as_object,
    as_text,
    check_format,
    listed,
    shown,
    tags_at,
    unknown_value,
)
from sim.files.foreign import one_line
from sim.files.formats import STORY_FORMAT
from sim.files.limits import Limit
from sim.files.reading import read_document
from sim.protocol.replication.joining import REPLICA_LAG_MAX_MS, waits_for_joining
from sim.protocol.rules import Rules
from sim.protocol.rules.replication import Awaited
from sim.simulate.scenario.runnable import Expectation, Runnable, rules_at
from sim.simulate.story.fields import NAMES, PERIOD, REPLICA, REPLICAS, check_names, no_such_label
from sim.simulate.story.op import Scope, Step
from sim.simulate.story.ops import OPS
from sim.simulate.story.steps import check_all_written, check_meanings, labels_of, step_at

_EMPTY_SLOT = "-"
"""Label of a slot without a record in a claim."""
_EXPECT = ("violated", "checked", "leader", "replicas", "moments", "note")

Claims: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Claims about replicas, by name of the replica and of the claim."""


@dataclass(frozen=True, slots=True)
class StoryExpect(Expectation):
    """The expectation of a story.

    Attributes:
        leader: Name of the leader at the end; None without a claim.
        replicas: Claims about replicas at the end.
        moments: Claims about replicas at each moment that a `moment` step noted, by its name.
    """

    leader: str | None = None
    replicas: Claims = field(default_factory=dict)
    moments: Mapping[str, Claims] = field(default_factory=dict)


class StoryClaims(TypedDict, total=False):
    """The claims that may be made about a replica, each with the name of its type in errors."""

    log: Annotated[list[str], "a list of label@offset texts"]
    """The records of its log, `label@offset` each; an empty batch is `-@offset`."""
    batches: Annotated[list[str], "a list of texts, label@offset epoch N each"]
    """Its batches, `label@offset epoch N` each."""
    epochs: Annotated[list[tuple[int, int]], "a list of [epoch, start offset]"]
    """Leader epoch cache: [epoch, start offset] of each entry."""
    offsets: Annotated[list[int], "a list of integers"]
    """Offsets of its records."""
    leo: Annotated[int, "an integer"]
    """Log end offset (exclusive)."""
    hw: Annotated[int, "an integer"]
    """High watermark (exclusive)."""
    start: Annotated[int, "an integer"]
    """Log start offset."""
    lso: Annotated[int, "an integer"]
    """Last stable offset (exclusive)."""
    committed: Annotated[list[str], "a list of label@offset texts"]
    """The records that a consumer of committed records is given, `label@offset` each."""
    state: Annotated[dict[str, str | int], "a mapping of keys to labels"]
    """The label each key has below the high watermark."""
    up: Annotated[bool, "true or false"]
    """True if the replica is up."""


CLAIMS: dict[str, tuple[Any, str]] = {
    name: get_args(hint) for name, hint in get_type_hints(StoryClaims, include_extras=True).items()
}
"""The type of each claim, and its name in errors; a number does not pass for a text."""


def _claimed(part: str, claim: Any, place: Place) -> Any:
    """A claim in the form that the view of a replica has."""
    shape, expected = CLAIMS[part]
    try:
        found = msgspec.convert(claim, shape)
    except msgspec.ValidationError:
        place.fail(f"expected {expected}, not {shown(claim)}")
    return {key: str(label) for key, label in found.items()} if part == "state" else found


def expect_at(raw: object, scope: Scope, place: Place, wrong: Complaints) -> StoryExpect:
    """The claims at `place`, checked.

    Args:
        raw: The claims as the file has them.
        scope: The replicas at the end of the story, and those at each moment that a step notes.
        place: Place of the claims, for errors.
        wrong: Takes complaints about fields, invariants and replicas that do not exist, and about
            claims of a wrong type, which could never be met.
    """
    fields = Fields(raw, place, _EXPECT, wrong)
    discover()
    violated = _invariants(fields, "violated", wrong)
    checked = _invariants(fields, "checked", wrong)
    known = scope.known if scope.sure else None
    replicas = _of_replicas(fields.values.get("replicas", {}), known, fields.at("replicas"), wrong)
    moments: dict[str, Claims] = {}
    with wrong:
        at_moments = fields.at("moments")
        for name, claims in as_object(fields.values.get("moments", {}), at_moments).items():
            at = at_moments.at(name)
            if scope.sure and name not in scope.moments:
                wrong.add(at.problem(unknown_value(name, scope.moments, what="moment")))
            elif claims == {}:
                wrong.add(at.problem("claims nothing; name replicas"))
            then = scope.moments.get(name) if scope.sure else None
            moments[name] = _of_replicas(claims, then, at, wrong)
    leader = fields.values.get("leader")
    with wrong:
        if leader is not None and scope.sure:
            check_names(REPLICA, str(leader), scope.known, fields.at("leader"))
    return StoryExpect(
        violated or (), checked, None if leader is None else str(leader), replicas, moments
    )


def check_labels(
    expect: StoryExpect, labels: Sequence[str], place: Place, wrong: Complaints
) -> None:
    """Complains of claims about records that no step writes."""
    at_moments = [(place.at("moments").at(name), of) for name, of in expect.moments.items()]
    for at, of in ((place.at("replicas"), expect.replicas), *at_moments):
        for replica, claims in of.items():
            for part in ("log", "committed"):
                for index, entry in enumerate(claims.get(part, ())):
                    label = entry.rpartition("@")[0]
                    why = None if label == _EMPTY_SLOT else no_such_label(label, labels)
                    if why is not None:
                        wrong.add(at.at(replica).at(part).at(index).problem(why))


def _of_replicas(
    raw: object, known: Sequence[str] | None, place: Place, wrong: Complaints
) -> Claims:
    """The claims about each replica; `known` has the replicas' names, None if any may exist."""
    replicas: dict[str, dict[str, Any]] = {}
    with wrong:
        for name, claims in as_object(raw, place).items():
            with wrong:
                if known is not None:
                    # The error has the line of the name, and the path of the field around it.
                    check_names(REPLICA, name, known, place.at(name, label=place.path))
                replicas[name] = _claims(claims, place.at(name), wrong)
    return replicas


def _invariants(fields: Fields, part: str, wrong: Complaints) -> tuple[str, ...] | None:
    if part not in fields.values:
        return None
    names: list[str] = []
    with wrong:
        names = as_list(fields.values[part], fields.at(part))
        if part == "checked" and not names:
            fields.at(part).fail("no invariant would be judged; leave it out")
        for index, name in enumerate(names):
            if not isinstance(name, str) or name not in INVARIANTS:
                place = fields.at(part).at(index)
                wrong.add(place.problem(unknown_value(name, INVARIANTS, what="invariant")))
    return tuple(names)


def _claims(raw: object, place: Place, wrong: Complaints) -> dict[str, Any]:
    fields = Fields(raw, place, [*CLAIMS, "note"], wrong)
    claims: dict[str, Any] = {}
    for part, claim in fields.values.items():
        with wrong:
            if part in CLAIMS:
                claims[part] = _claimed(part, claim, fields.at(part))
    if not fields.values:
        wrong.add(place.problem(f"claims nothing; allowed: {listed(CLAIMS)}"))
    return claims


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
        replica_lag_max_ms: Time in ms for which a follower counts as caught up after it last had
            all of its leader's log.
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
"""Field of `timers` for `replica.lag.time.max.ms`, named as in timed scenarios."""

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
    """Value of the only timer, in ms; its default without `timers`.

    Raises:
        BadInput: The value is wrong, or no leader waits for followers that are about to join.
    """
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
