"""Every number and text of a file or an option has a largest value, which a message names.

That each file and option says so is in `tests/cli/refusals.yaml`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.files.limits import LIMITS, LONG, whole_number
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.story.format import story_from
from sim.study.sweep.plan import load_plan
from tests.schemas.making import schema_of_files


def bounds_of(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number in a schema, by its path; claims are compared, and `set` is of rules."""
    if isinstance(schema, dict):
        if schema.get("type") in ("integer", "number") and "enum" not in schema:
            yield path, schema
        for name, part in schema.items():
            if name not in ("claims", "default", "set"):
                yield from bounds_of(part, f"{path}.{name}")
    elif isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from bounds_of(part, f"{path}[{index}]")


def test_no_number_of_a_file_is_without_bounds() -> None:
    found = dict(bounds_of(schema_of_files()))
    assert len(found) > 100

    def has(part: Any, *words: str) -> bool:
        return any(word in part for word in words)

    unbounded = [
        path
        for path, part in found.items()
        if not has(part, "maximum", "exclusiveMaximum")
        or not has(part, "minimum", "exclusiveMinimum")
    ]
    assert unbounded == []


def test_every_limit_has_a_name_of_its_own_and_a_reason() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS) > 40
    assert all(limit.unit and limit.why and limit.least <= 0 < limit.most for limit in LIMITS)
    assert all(limit.least >= -LONG - 1 and limit.most <= LONG for limit in LIMITS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-12", -12),
        ("007", 7),
        ("-" + "0" * 200 + "5", -5),
        ("9" * 5_000, int("9" * 101)),
        *[
            (text, None)
            for text in ("", "-", "+5", " 5", "5 ", "1_000", "1e3", "1.0", "٣", "²", "0x1")
        ],
    ],
)
def test_a_whole_number_is_plain_digits(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"op": "advance", "ms": 10**30}], "step 1 (advance): ms: 1" + "0" * 30 + " is above"),
        ([f"append a l {'k' * 1_048_589}"], "step 1 (append): key: 1,048,589 characters; at most"),
        (["check"] * 100_001, "steps: 100,001 steps; at most 100,000 are allowed (steps)"),
        ([f"add_replica {n}" for n in range(64)], "(add_replica): replica: 65 replicas; at"),
    ],
)
def test_a_story_says_which_limit_a_field_is_beyond(steps: list[Any], told: str) -> None:
    story = {"format": "replog-story/1", "replicas": ["a"], "steps": steps}

    with pytest.raises(BadInput, match=r"^x: ") as caught:
        story_from(story, where="x")

    assert told in str(caught.value)


LONG_TITLE = f"format: replog-scenario/1\ntitle: {'x' * 10_001}\n"
MANY_CELLS = f"""\
format: replog-sweep/1
title: t
source: s
seed: 1
count: 1
generate: quiet
environments: {{{", ".join(f"e{n}: {{keys: [1, {n}]}}" for n in range(1, 102))}}}
matrix: {{delete_retention_ms: {list(range(1_000))}}}
"""


@pytest.mark.parametrize(
    ("load", "text", "told"),
    [
        (load_scenario, LONG_TITLE, ":2: title: 10,001 characters; at most 10,000 are allowed (le"),
        (load_plan, MANY_CELLS, "101,000 rule sets in environments; at most 100,000 are allowed ("),
    ],
    ids=["title", "cells"],
)
def test_texts_and_cells_have_limits(
    tmp_path: Path, load: Callable[[Path], object], text: str, told: str
) -> None:
    (tmp_path / "x.yaml").write_text(text)

    with pytest.raises(BadInput) as caught:
        load(tmp_path / "x.yaml")

    assert told in str(caught.value)
