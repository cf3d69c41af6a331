"""Every number and text of a file or an option has a largest value, which a message names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.cli.schemas import schema_of_files
from sim.errors import BadInput
from sim.files.limits import LIMITS, LONG, whole_number
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.story.format import story_from
from sim.study.sweep.plan import load_plan
from tests.commands import replog


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
    ("line", "told"),
    [
        ("replicas: 65", "replicas: 65 is above the largest allowed, 64 (replicas)"),
        ("consumers: 1000000000", "consumers: 1000000000 is above the largest allowed, 1000 (con"),
        ("replicas: [{name: a, clock_skew_ms: -99999999999999}]", "replicas[0].clock_skew_ms: -9"),
        ("last_rounds: 2147483648", "last_rounds: 2147483648 is above the largest allowed, 10000"),
        ("topic: {segment.bytes: 2147483648}", "topic.segment.bytes: 2147483648 is above"),
        ("topic: {retention.ms: 9223372036854775808}", "topic.retention.ms: 9223372036854775808"),
        ("network: {latency_ms: [1, 3600001]}", "network.latency_ms[1]: 3600001 is above"),
        ("workload: {random: {sends: 1000001}}", "workload.random.sends: 1000001 is above"),
        ("workload: {random: {keys: 1000001}}", "workload.random.keys: 1000001 is above"),
        ("limits: {max_events: 1000000000001}", "limits.max_events: 1000000000001 is above"),
        ("rules: {min_isr: 9223372036854775808}", "rules.min_isr: 9223372036854775808 is above"),
        (f"title: {'x' * 10_001}", "title: 10,001 characters; at most 10,000 are allowed (length"),
    ],
)
def test_a_scenario_says_which_limit_a_field_is_beyond(
    tmp_path: Path, line: str, told: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"format: replog-scenario/1\n{line}\n")

    with pytest.raises(BadInput) as caught:
        load_scenario(file)

    assert f"x.yaml:2: {told}" in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (["elect a 2147483648"], "step 1 (elect): epoch: 2147483648 is above the largest allowed"),
        (["advance 100000000000000001"], "step 1 (advance): ms: 100000000000000001 is above"),
        (["advance 99999999999999999"] * 2, "step 2 (advance): ms: 199999999999999998 is above"),
        ([{"op": "advance", "ms": 10**30}], "step 1 (advance): ms: 1" + "0" * 30 + " is above"),
        ([f"append a l k pid={2**63}"], "step 1 (append): pid: 9223372036854775808 is above"),
        ([f"append a l {'k' * 1_048_589}"], "step 1 (append): key: 1,048,589 characters; at most"),
        (["check"] * 100_001, "steps: 100,001 steps; at most 100,000 are allowed (steps)"),
        (
            [f"add_replica {n}" for n in range(64)],
            "(add_replica): replica: 65 replicas; at",
        ),
    ],
)
def test_a_story_says_which_limit_a_field_is_beyond(steps: list[Any], told: str) -> None:
    story = {"format": "replog-story/1", "replicas": ["a"], "steps": steps}

    with pytest.raises(BadInput, match=r"^x: ") as caught:
        story_from(story, where="x")

    assert told in str(caught.value)


MANY = list(range(1_000))
PLAN = """\
format: replog-sweep/1
title: t
source: s
seed: 1
"""


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("count: 1000000001\ngenerate: quiet\nrule_sets: [{}]", "count: 1000000001 is above"),
        (
            "count: 1\ngenerate: {sends: [1, 1000001]}\nrule_sets: [{}]",
            "sends[1]: 1000001 is above",
        ),
        ("count: 1\ngenerate: {replicas: [3, 65]}\nrule_sets: [{}]", "replicas[1]: 65 is above"),
        (
            (
                "count: 1\ngenerate: quiet\n"
                f"matrix: {{delete_retention_ms: {MANY[:40]}, start_offset_lag_ms: {MANY[:40]}}}"
            ),
            "matrix: 1,600 rule sets; at most 1,000 are allowed (rule sets)",
        ),
        (
            (
                "count: 1\ngenerate: quiet\n"
                f"environments: {{{', '.join(f'e{n}: {{keys: [1, {n}]}}' for n in MANY[1:102])}}}\n"
                f"matrix: {{delete_retention_ms: {MANY}}}"
            ),
            "101,000 rule sets in environments; at most 100,000 are allowed (cells)",
        ),
    ],
    ids=["count", "sends", "replicas", "matrix", "cells"],
)
def test_a_plan_says_which_limit_a_field_is_beyond(tmp_path: Path, rest: str, told: str) -> None:
    (tmp_path / "x.yaml").write_text(PLAN + rest)

    with pytest.raises(BadInput) as caught:
        load_plan(tmp_path / "x.yaml")

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sweep", "x", "--count", ""], "'--count': '' is not a valid integer range."),
        (["sweep", "x", "--seed", "9" * 5_000], "Invalid value for '--seed': '9999"),
        (["sweep", "x", "--seed", "9" * 50], f"'--seed': {'9' * 50} is not in the range 0<=x<="),
        (["sweep", "x", "--out", ""], "'--out': an empty path; the current folder is ./"),
        (["new", "story", "-o", "x" * 300], "File name too long"),
        (["list", "rules", f"--{'x' * 5_000}"], f"No such option '--{'x' * 58}"),
        (["suite", "-j", "1001"], "'-j' / '--jobs': 1001 is not in the range 0<=x<=1000."),
        (["shrink", "x", "--within", "1e308"], "'--within': 1e+308 is not in the range 0<=x<="),
        (["x" * 500], f"No such command '{'x' * 60}"),
        (["matrix", "x", "--vary", "min_isr=1_0"], "min_isr: unknown value '1_0'"),
        (
            ["matrix", "x", "--vary", f"min_isr={10**30}"],
            "is above the largest allowed, 2147483647",
        ),
    ],
)
def test_an_option_takes_numbers_within_bounds(words: list[str], told: str) -> None:
    answer = replog(*words)

    assert answer.status == 2
    assert told in answer.complaint
