"""The story file format, `replog-story/1`, strictly checked; JSON and YAML have one shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sim import limits
from sim.files.document import Document, shown
from sim.files.fields import Fields, as_list, as_text, check_format
from sim.files.formats import STORY_FORMAT
from sim.files.reading import read_document
from sim.files.rule_values import rules_at
from sim.files.tags import tags_at
from sim.foreign.lines import one_line
from sim.limits import Limit
from sim.rules import Rules
from sim.story.expect import StoryExpect, expect_at
from sim.story.fields import REPLICAS, check_names, names_in
from sim.story.op import Scope
from sim.story.steps import Step, step_at

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
"""What a story's rules start from."""


@dataclass(frozen=True, slots=True)
class Story:
    """A story as loaded; `replicas` are in order of creation.

    `preset` is what its rules were named by, None = nothing; `rules` have all its values.
    """

    id: str
    title: str
    source: str
    rules: Rules
    replicas: tuple[str, ...]
    isr: tuple[str, ...]
    voters: tuple[str, ...]
    steps: tuple[Step, ...]
    expect: StoryExpect
    preset: str | None = None


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
    "steps",
    "expect",
    "note",
]


def load_story(path: Path) -> Story:
    """Read and check a story file.

    Raises:
        BadInput: The file cannot be read, or says something that the format does not allow; the
            message names the file, the line, the step and the field.
    """
    return story_in(read_document(path), default_id=one_line(path.stem))


def story_from(data: object, *, where: str) -> Story:
    """The story in data as JSON or YAML has it; `where` names it in errors.

    Raises:
        BadInput: As `load_story`.
    """
    return story_in(Document(where, data), default_id="story")


def story_in(document: Document, *, default_id: str) -> Story:
    """The story in a document, wherever that was read; `default_id` is for one that has no `id`.

    Raises:
        BadInput: As `load_story`.
    """
    check_format(document, (STORY_FORMAT,))
    top = Fields(document.data, document.top, TOP)
    replicas = _replicas(top)
    scope = Scope(list(replicas))
    at_steps = top.at("steps")
    listed = as_list(top.values.get("steps", []), at_steps)
    at_steps.check(limits.STEPS.too_many(len(listed), "steps"))
    steps = tuple(
        step_at(raw, number, scope, at_steps.at(number - 1, label=f"step {number}"))
        for number, raw in enumerate(listed, start=1)
    )
    tags_at(top.values.get("tags"), top.at("tags"))
    rules = top.values.get("rules", {})
    return Story(
        id=_text_or(top, "id", default_id, limits.NAME),
        title=_text_or(top, "title", "", limits.TITLE),
        source=_text_or(top, "source", "", limits.TITLE),
        rules=rules_at(rules, top.at("rules"), base=STORY_DEFAULTS),
        replicas=replicas,
        isr=_subset(top, "isr", replicas),
        voters=_subset(top, "voters", replicas),
        steps=steps,
        expect=expect_at(
            top.values.get("expect", {}), scope.known, top.at("expect"), moments=scope.moments
        ),
        preset=rules.get("preset") if isinstance(rules, dict) else None,
    )


def _replicas(top: Fields) -> tuple[str, ...]:
    names = _names(top, "replicas")
    if len(set(names)) != len(names):
        top.fail("replicas", "a name is given twice")
    return names


def _subset(top: Fields, name: str, replicas: tuple[str, ...]) -> tuple[str, ...]:
    """The replicas that a field lists; all of them without the field."""
    if name not in top.values:
        return replicas
    names = _names(top, name)
    check_names(REPLICAS, names, replicas, top.at(name))
    return names


def _names(top: Fields, name: str) -> tuple[str, ...]:
    if name not in top.values:
        top.fail(name, "missing; a list of names")
    value = top.values[name]
    if isinstance(value, list):
        top.at(name).check(limits.REPLICAS.too_many(len(value), "names"))
    try:
        names = names_in(value) if isinstance(value, list) else ()
    except (ValueError, TypeError):
        names = ()
    if not names:
        top.fail(name, f"expected a list of names, not {shown(value)}")
    return names


def _text_or(top: Fields, name: str, default: str, limit: Limit) -> str:
    text = as_text(top.values.get(name, default), top.at(name))
    top.at(name).check(limit.too_many(len(text), "characters"))
    return text
