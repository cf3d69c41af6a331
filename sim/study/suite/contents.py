"""Reads the story or the timed scenario in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.files.foreign.lines import one_line
from sim.files.formats import STORY_FORMAT
from sim.files.reading import read_document

if TYPE_CHECKING:
    from sim.files.document import Document
    from sim.protocol.rules.spec import RuleValue
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


def content_at(path: Path) -> Story | Scenario:
    """The story or the timed scenario in a file.

    Raises:
        BadInput: It is none, or says something wrong.
    """
    return content_in(read_document(path), path)


def content_in(document: Document, path: Path, *, seed: int | None = None) -> Story | Scenario:
    """The story or the timed scenario in a document, whose name is that of `path` if it has none.

    Raises:
        BadInput: It says something wrong; or a story is given a seed.
    """
    # What the other kinds of files need is most of what would have to be imported for a story.
    if isinstance(document.data, dict) and document.data.get("format") == STORY_FORMAT:
        from sim.simulate.story.format import story_in

        if seed is not None:
            raise BadInput(f"{document.name}: seed: a story has no randomness to seed")
        return story_in(document, default_id=one_line(path.stem))
    from sim.check.checker import known_invariants
    from sim.check.coverage import SITUATIONS
    from sim.simulate.scenario.file.load import scenario_in

    known = known_invariants()
    return scenario_in(
        document, path=path, seed=seed, known_invariants=known, known_reached=SITUATIONS
    )


def under(
    content: Story | Scenario, rules: Mapping[str, RuleValue], *, where: str
) -> Story | Scenario:
    """The same under other rules; `where` is what messages call them. Raises BadInput."""
    from sim.protocol.rules import rules_from

    changed = rules_from(rules, base=content.rules, where=where)
    preset: Any = rules.get("preset", content.preset)
    return replace(content, rules=changed, preset=preset)
