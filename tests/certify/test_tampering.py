"""A trace that somebody cut or edited is refused, or disagrees with its own verdict."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import sim
from sim.check.certify import Certificate, Refused, Undecidable, certify, logs
from sim.check.certify.logs import RebuiltCluster, digest, parse

ROOT = Path(__file__).parents[2]
STORY = ROOT / "scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml"
Lines = list[dict[str, Any]]


@cache
def written() -> bytes:
    with TemporaryDirectory() as folder:
        return sim.run(STORY).save_trace(Path(folder) / "trace.ndjson").read_bytes()


def lines() -> Lines:
    return [json.loads(line) for line in written().splitlines()]


def judged(edited: Lines, *, sealed: bool = False) -> Certificate:
    """Certify edited lines; `sealed`: whoever edited them made count and digest fit again."""
    if sealed:
        edited[-1] |= {"events": len(edited) - 2, "digest": digest(edited[1:-1])}
    return certify(written_again(edited))


def written_again(edited: Lines) -> bytes:
    return "\n".join(map(json.dumps, edited)).encode()


def place(edited: Lines, event: str, nth: int = 0) -> int:
    """Where the nth event of a name stands."""
    return [number for number, line in enumerate(edited) if line.get("event") == event][nth]


MISSING = object()
"""In the place of the value of a field that is left out."""
Edit = Callable[[Lines], object]


def dropping(event: str, nth: int = 0) -> Edit:
    """Leaves out the nth event of a name."""
    return lambda edited: edited.pop(place(edited, event, nth))


def name_another_format(edited: Lines) -> None:
    edited[0]["format"] = "replog-trace/2"


def keep_the_header(edited: Lines) -> None:
    del edited[1:]


def swap_two_events(edited: Lines) -> None:
    at = place(edited, "Cleaned")
    edited[at], edited[at + 1] = edited[at + 1], edited[at]


def change_a_value(edited: Lines) -> None:
    edited[place(edited, "Copied")]["batches"][0]["records"][0]["value"] = "other"


def raise_a_time(edited: Lines) -> None:
    edited[place(edited, "Copied")]["at"] = 99


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (dropping("PositionRecorded"), "counts 36 events, the trace has 35"),
        (Lines.pop, "the trace is cut"),
        (keep_the_header, "the trace is cut"),
        (name_another_format, "expected replog-trace/1"),
        (swap_two_events, "not in order of time"),
        (change_a_value, "digest"),
        (raise_a_time, "not in order of time"),
    ],
)
def test_an_edited_trace_is_refused(edit: Edit, said: str) -> None:
    edited = lines()
    edit(edited)
    with pytest.raises(Refused, match=said):
        judged(edited)


@pytest.mark.parametrize(
    ("number", "changed", "said"),
    [
        (0, {"format": 0}, "line 1: format: 0; expected replog-trace/1"),
        (0, {"rules": 0}, "line 1: rules: expected fields, not 0"),
        (
            0,
            {"within_contract": "yes"},
            'line 1: within_contract: expected true or false, not "yes"',
        ),
        (3, {"at": "0"}, 'line 4: at: expected a whole number, not "0"'),
        (3, {"replica": None}, "line 4: replica: expected text, not null"),
        (-1, {"violations": 0}, "violations: expected a list, not 0"),
        (-1, {"digest": 0}, "digest: expected text, not 0"),
        (0, {"rules": MISSING}, "line 1: rules: missing"),
        (0, {"strategy": MISSING}, "line 1: strategy: missing"),
        (0, {"commit": MISSING}, "line 1: commit: missing"),
        (2, {"at": MISSING}, "line 3: at: missing"),
        (2, {"replica": MISSING}, "line 3: replica: missing"),
        (-1, {"events": MISSING}, "events: missing"),
    ],
)
def test_a_value_that_is_missing_or_of_the_wrong_kind_is_named_with_its_line(
    number: int, changed: dict[str, object], said: str
) -> None:
    edited = lines()
    told = edited[number] | changed
    edited[number] = {name: value for name, value in told.items() if value is not MISSING}
    with pytest.raises(Refused) as refused:
        certify(written_again(edited))

    assert str(refused.value).endswith(said)


def call_a_delete_a_value(edited: Lines) -> None:
    edited[place(edited, "Appended", 1)]["batch"]["records"][0]["tombstone"] = False


def remove_twice(edited: Lines) -> None:
    at = place(edited, "Cleaned")
    edited.insert(at, edited[at])


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (dropping("Appended", 1), "appends from 2 on; its log ends at 1"),
        (dropping("Copied", 2), "what it does not hold"),
        (dropping("ReplicaAdded", 2), "r3"),
        (call_a_delete_a_value, "tombstone"),
        (remove_twice, "what it does not hold"),
    ],
)
def test_what_contradicts_itself_is_refused_though_count_and_digest_fit(
    edit: Edit, said: str
) -> None:
    edited = lines()
    edit(edited)
    with pytest.raises(Refused, match=said):
        judged(edited, sealed=True)


ODD = (None, True, -1, 10**15, 2**62, 1e300, "x", [], {}, [[]], [{}], {"a": 1}, [["a", "b"]])


def parts_of(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from parts_of(value[step], (*way, step))


def test_whatever_stands_in_the_place_of_a_value_is_judged_or_refused_at_once() -> None:
    """Offsets far away, too, between which nobody counts."""
    chance = Random(1)
    ways = [way for way in parts_of(lines()) if len(way) > 1]
    refused = list[str]()
    for _ in range(150):
        edited = lines()
        *way, last = chance.choice(ways)
        holder: Any = edited
        for step in way:
            holder = holder[step]
        holder[last] = chance.choice(ODD)
        if way[0] not in (0, len(edited) - 1):
            with suppress(TypeError, ValueError):  # headers that are none have no digest
                edited[-1]["digest"] = digest(edited[1:-1])
        try:
            certify(written_again(edited))
        except (Refused, Undecidable) as error:
            refused.append(str(error))
    assert 50 < len(refused) < 150
    assert [said for said in refused if "Error" in said] == []  # no exception of Python's


HEADER = b'{"format": "replog-trace/1"}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: missing; a trace begins with a header"),
        (b"[]\n{}\n", "line 1: not one JSON object: "),
        (HEADER + b"0\n", "line 2: not one JSON object: "),
        (HEADER + b'{"a":' * 100_000, "line 2: nested too deeply"),
        (HEADER + b'{"a": "' + b"x" * 5_000, "line 2: not one JSON object: "),
        (HEADER + b'{"at": ' + b"9" * 5_000 + b"}", "line 2: not one JSON object: "),
        (HEADER + b'{"a": "\\ud800"}', "line 2: not one JSON object: "),
        (HEADER + b'{"a": NaN}', "line 2: not one JSON object: "),
        (HEADER + b"\0", "line 2: not one JSON object: "),
        (HEADER + b"\xff", "line 2: not one JSON object: "),
        (HEADER + b"{}\n" * 10, "line 11: more than 10 lines"),
    ],
)
def test_a_line_that_nobody_can_read_is_refused_by_its_number(
    monkeypatch: pytest.MonkeyPatch, content: bytes, said: str
) -> None:
    monkeypatch.setattr(logs, "LINES_LIMIT", 10)
    with pytest.raises(Refused) as refused:
        certify(content)

    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("told", "other"), [(0, "no-offset-reuse"), (1, "no-resurrection")])
def test_a_verdict_with_a_violation_more_or_less_disagrees(told: int, other: str) -> None:
    edited = lines()
    violations = edited[-1]["violations"]
    violations.append(violations[0] | {"invariant": other})
    edited[-1]["violations"] = [v for v in violations if not told or v["invariant"] != other]
    assert judged(edited).differing == [other]


def test_a_trace_without_the_removal_that_did_the_harm_disagrees() -> None:
    edited = [
        line
        for line in lines()
        if line.get("event") != "Cleaned" or line["removals"][0]["reason"] != "tombstone"
    ]
    assert "tombstone-safety" in judged(edited, sealed=True).differing


def test_the_in_sync_set_is_that_of_the_leader_of_the_newest_epoch() -> None:
    trace = parse(written())
    cluster = RebuiltCluster(trace)
    for row in trace.events:
        cluster.apply(row)
    deposed = next(name for name in cluster.replicas if name != cluster.leader)
    seen = []
    for name in (deposed, cluster.leader):
        cluster.apply({"event": "IsrChanged", "replica": name, "isr": [name], "joined": None})
        seen.append(cluster.isr)

    assert seen[0] != [deposed]
    assert seen[1] == [cluster.leader]


def test_fields_that_hold_a_judgement_are_not_read() -> None:
    edited = lines()
    for line in edited:
        for removal in line.get("removals", ()):
            removal |= {"winner_offset": 77, "reason": "aborted"}
    assert judged(edited, sealed=True).found == judged(lines()).found


def test_a_strategy_that_is_not_known_cannot_be_decided() -> None:
    edited = lines()
    edited[0]["strategy"]["name"] = "longest"
    with pytest.raises(Undecidable, match="longest"):
        judged(edited)
