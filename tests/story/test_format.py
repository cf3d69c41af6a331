"""Story files: what is accepted, and one clear line for everything else."""

import json
from pathlib import Path

import pytest

from sim.rules.rules import RULES
from sim.story import load_story, run_story
from sim.story.ops import OPS
from tests.story.refusing import BASE, refused, step_refused


def test_a_json_story_and_the_same_in_yaml_are_one_story(tmp_path: Path) -> None:
    as_json, as_yaml = tmp_path / "s.json", tmp_path / "s.yaml"
    as_json.write_text(json.dumps(BASE))
    as_yaml.write_text(
        "format: replog-story/1\nreplicas: ['1', '2']\nsteps:\n  - elect 1 1   # the first leader\n"
    )

    assert load_story(as_json) == load_story(as_yaml)


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_may_be_written_as_any_json_writer_does(tmp_path: Path, indent: str | None) -> None:
    title = 'a "quote", a \\ and a / and \U0001f600'
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE | {"title": title}, indent=indent).replace("/", "\\/"))

    assert load_story(path).title == title


def test_a_story_without_id_is_called_like_its_file(tmp_path: Path) -> None:
    path = tmp_path / "kip280_99_something.json"
    path.write_text(json.dumps(BASE))

    assert load_story(path).id == "kip280_99_something"


def test_rules_start_from_the_defaults_of_stories(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE))

    rules = load_story(path).rules

    assert (rules.replication.commit, rules.topic.min_isr, rules.replication.follower_position) == (
        "isr",
        1,
        "request",
    )
    assert (rules.topic.delete_retention_ms, rules.cleaner.tombstone_mark) == (100, "explicit")
    assert (rules.replication.truncation, rules.storage.leo_source, rules.cleaner.strategy) == (
        "epoch_diverging",
        "stored",
        "offset",
    )
    assert (rules.cleaner.map_range, rules.cleaner.fix, rules.cleaner.cleaner_bound) == (
        "full",
        "none",
        "hw",
    )
    assert (rules.cleaner.tombstone_removal, rules.replication.epoch_commit_rule) == (
        "horizon",
        "strict",
    )
    assert (rules.replication.isr_join, rules.replication.fencing, rules.replication.lag_guard) == (
        "epoch_start",
        True,
        "none",
    )
    assert (rules.replication.offset_assignment, rules.replication.leader_change_record) == (
        "leader_assigned",
        False,
    )


def test_names_may_be_numbers_and_notes_are_allowed_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    step = {"op": "elect", "leader": 1, "epoch": 1, "note": "first"}
    expect = {"note": "nothing", "replicas": {"1": {"log": [], "note": "empty"}}}
    document = {"format": "replog-story/1", "replicas": [1, 2], "note": "n", "steps": [step]}
    path.write_text(json.dumps(document | {"expect": expect}))

    story = load_story(path)

    assert story.replicas == story.isr == story.voters == ("1", "2")
    assert run_story(story).differences() == []


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("append 1 k=old K hdr=9", {"label": "k=old", "key": "K", "hdr": 9}),
        ("append 1 k=old key=K hdr=-9", {"label": "k=old", "key": "K", "hdr": -9}),
        ("append 1 v K 5", {"label": "v", "key": "K", "ts": 5}),
        ("append 1 v K hdr=null", {"label": "v", "key": "K", "hdr": None}),
        ("append 1 v K tombstone=true", {"label": "v", "key": "K", "tombstone": True}),
        ("append 1 marker=commit pid=7", {"marker": "commit", "pid": 7}),
        ("append leader=1 label=v key=K", {"label": "v", "key": "K"}),
    ],
)
def test_one_line_is_op_then_fields_in_order_then_names(
    tmp_path: Path, line: str, fields: dict[str, object]
) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE | {"steps": [line]}))

    assert load_story(path).steps[0].fields == {"leader": "1"} | fields


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("isr 1,2", {"isr": ("1", "2")}),
        ("elect 1 2 votes=1,2", {"leader": "1", "epoch": 2, "votes": ("1", "2")}),
        ("fetch 2 1 max=1", {"follower": "2", "leader": "1", "max": 1}),
        ("fetch 2 1 drop_response=true", {"follower": "2", "leader": "1", "drop_response": True}),
        ("fetch 2 1 delay_response=true", {"follower": "2", "leader": "1", "delay_response": True}),
        (
            "fetch_snapshot 2 1 delay_response=true",
            {"follower": "2", "leader": "1", "delay_response": True},
        ),
        ("deliver 2 1", {"follower": "2", "leader": "1"}),
        ("compact 1 segments=[[0,2,5]]", {"replica": "1", "segments": ((0, 2, 5),)}),
        ("crash 1 lose=2", {"replica": "1", "lose": 2}),
        ("quiesce nosync=true", {"nosync": True}),
        ("coordinate reachable=1", {"reachable": ("1",)}),
        ("check", {}),
    ],
)
def test_lists_and_switches_have_a_one_line_form(
    tmp_path: Path, line: str, fields: dict[str, object]
) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE | {"steps": [line]}))

    assert load_story(path).steps[0].fields == fields


def test_a_story_has_fields(tmp_path: Path) -> None:
    assert refused(tmp_path, "[1]") == ": expected fields, not [1]"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"format": "replog-story/2"},
            "format: unknown format \"replog-story/2\" (did you mean 'replog-story/1'?); allowed: ",
        ),
        ({"titel": "x"}, "titel: unknown field (did you mean 'title'?); allowed: format, id"),
        ({"title": 5}, "title: expected text, not 5"),
        ({"replicas": []}, "replicas: expected a list of names"),
        ({"replicas": "1"}, "replicas: expected a list of names"),
        ({"replicas": ["1", 1]}, "replicas: a name is given twice"),
        ({"isr": ["3"]}, "isr: no replica '3'; known here: 1, 2"),
        ({"voters": ["3"]}, "voters: no replica '3'; known here: 1, 2"),
        ({"isr": ["1", "1"]}, "isr: a replica is named twice"),
        ({"steps": {}}, "steps: expected a list"),
        ({"rules": []}, "rules: expected fields"),
        ({"expect": []}, "expect: expected fields"),
    ],
)
def test_a_wrong_field_at_the_top_is_refused(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    assert said in refused(tmp_path, BASE | change)


def test_an_unknown_rule_is_answered_with_all_rules(tmp_path: Path) -> None:
    said = refused(tmp_path, BASE | {"rules": {"strategi": "offset"}})

    assert "rules.strategi: unknown rule (did you mean 'strategy'?)" in said
    assert all(name in said for name in RULES)


@pytest.mark.parametrize("name", [name for name, spec in RULES.items() if spec.values])
def test_an_unknown_value_is_answered_with_the_values_of_its_rule(
    tmp_path: Path, name: str
) -> None:
    said = refused(tmp_path, BASE | {"rules": {name: "sometimes"}})

    assert f"rules.{name}: unknown value 'sometimes'" in said
    assert all(str(value).lower() in said for value in RULES[name].values)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            {"delete_retention_ms": -1},
            "rules.delete_retention_ms: -1 is below the smallest allowed",
        ),
        ({"delete_retention_ms": "long"}, "rules.delete_retention_ms: unknown value 'long'"),
        ({"min_isr": 0}, "rules.min_isr: 0 is below the smallest allowed, 1"),
        ({"min_isr": "two"}, "rules.min_isr: unknown value 'two'; allowed: an integer from 1"),
        ({"strategy_header": 5}, "unknown value 5; allowed: a text that is not empty"),
        ({"fencing": 1}, "rules.fencing: unknown value 1; allowed: true, false"),
        ({"preset": "kafka-9"}, 'rules.preset: unknown preset "kafka-9"'),
    ],
)
def test_a_rule_of_the_wrong_kind_is_refused(
    tmp_path: Path, rules: dict[str, object], said: str
) -> None:
    assert said in refused(tmp_path, BASE | {"rules": rules})


def test_an_unknown_op_is_answered_with_all_ops(tmp_path: Path) -> None:
    for step in ({"op": "fetsch", "follower": "2", "leader": "1"}, "fetsch 2 1"):
        said = step_refused(tmp_path, step)

        assert "step 2: op: unknown op 'fetsch' (did you mean 'fetch'?)" in said
        assert all(op in said for op in OPS)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"op": "fetch", "follower": "2", "leader": "3"}, "(fetch): leader: no replica '3'"),
        ({"op": "fetch", "follower": "2"}, "(fetch): leader: missing; required: follower, leader"),
        (
            {"op": "advance", "ms": "soon"},
            '(advance): ms: expected an integer that is not negative, not "soon"',
        ),
        (
            {"op": "advance", "ms": -1},
            "(advance): ms: expected an integer that is not negative, not -1",
        ),
        (
            {"op": "advance", "ms": True},
            "(advance): ms: expected an integer that is not negative, not true",
        ),
        ({"op": "advance", "ms": 1, "speed": 2}, "(advance): speed: unknown field; allowed: ms"),
        ({"op": "isr", "isr": ["1", "9"]}, "(isr): isr: no replica '9'; known here: 1, 2"),
        ({"op": "isr", "isr": ["1", "1"]}, "(isr): isr: a replica is named twice"),
        ({"op": "isr", "isr": 1}, "(isr): isr: expected a list of replicas, not 1"),
        (
            {"op": "quiesce", "nosync": "maybe"},
            '(quiesce): nosync: expected true or false, not "maybe"',
        ),
        (
            {"op": "compact", "replica": "1", "segments": [[0, 1]]},
            "expected a list of [base, end, last modified] in the order of offsets, not [[0, 1]]",
        ),
        ({"op": "compact", "replica": "1", "segments": 5}, "expected a list of [base, end, last"),
        ({"op": "add_replica", "replica": "2"}, "(add_replica): replica: '2' exists already"),
        (
            "fetch 2 1 drop_response=true delay_response=true",
            "delay_response: a dropped response cannot be late",
        ),
        (
            "fetch_snapshot 2 1 crash=true delay_response=true",
            "delay_response: the replica is down when it comes",
        ),
        ({"leader": "1"}, "op: missing"),
        (5, "step 2: expected a line or fields, not"),
        (None, "step 2: expected a line or fields, not"),
    ],
)
def test_a_wrong_step_is_refused_with_its_number_and_field(
    tmp_path: Path, step: object, said: str
) -> None:
    message = step_refused(tmp_path, step)

    assert message.startswith(": step 2")
    assert said in message


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "label: missing; required: leader, label, key (or marker, pid)"),
        ({"label": "a"}, "key: missing; null for a record without a key"),
        ({"marker": "commit"}, "pid: missing; a marker needs the producer it is for"),
        ({"marker": "undo", "pid": 7}, 'marker: expected commit or abort, not "undo"'),
        (
            {"label": "a", "key": "A", "hdr": "x"},
            'hdr: expected an integer of 64 bits or null, not "x"',
        ),
        (
            {"label": "a", "key": "A", "hdr": 1 << 63},
            "expected an integer of 64 bits or null, not 9223372036854775808",
        ),
        ({"label": ["a"], "key": "A"}, 'label: expected a text, not ["a"]'),
    ],
)
def test_a_wrong_append_is_refused(tmp_path: Path, fields: dict[str, object], said: str) -> None:
    assert said in step_refused(tmp_path, {"op": "append", "leader": "1"} | fields)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "step 2: an empty step"),
        ("advance 5 6", "(advance): too many values at '6'"),
        ("advance ms=5 ms=6", "(advance): ms: given twice"),
        ("advance 5 ms=6", "(advance): ms: given twice"),
        ("elect 1", "(elect): epoch: missing"),
        ("elect 1 one", '(elect): epoch: expected an integer that is not negative, not "one"'),
        ("fetch 2 1 most=1", "(fetch): most: unknown field; allowed: follower, leader, max"),
        ("check now", "(check): too many values at 'now'"),
    ],
)
def test_a_wrong_line_is_refused(tmp_path: Path, line: str, said: str) -> None:
    assert said in step_refused(tmp_path, line)


def test_a_replica_is_known_from_the_step_that_adds_it(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE | {"steps": ["elect 1 1", "add_replica 3", "sync 3 1"]}))

    assert load_story(path).steps[2]["follower"] == "3"
    said = refused(tmp_path, BASE | {"steps": ["sync 3 1", "add_replica 3"]})
    assert "step 1 (sync): follower: no replica '3'" in said
    said = refused(tmp_path, BASE | {"steps": ["add_replica 3", "add_replica 3"]})
    assert "step 2 (add_replica): replica: '3' exists already" in said


def test_a_replica_is_unknown_after_the_step_that_removes_it(tmp_path: Path) -> None:
    said = refused(tmp_path, BASE | {"steps": ["remove_replica 2", "crash 2"]})
    assert "step 2 (crash): replica: no replica '2'" in said
    said = refused(tmp_path, BASE | {"steps": ["remove_replica 3"]})
    assert "step 1 (remove_replica): replica: no replica '3'" in said
