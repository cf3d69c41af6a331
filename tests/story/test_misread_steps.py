"""Steps and claims that newcomers write: what is said about them, and what stays as it is."""

from pathlib import Path

import pytest

from sim.story.format import story_from
from tests.story.refusing import BASE, refused, step_refused


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            {"append 1 note": "hello"},
            (
                "op: missing; 'append 1 note: hello' was read as a mapping with the field "
                "'append 1 note', for its colon; put the line in quotes, or write "
                "{op: append, leader: ..., label: ..., key: ...}; allowed: append, elect"
            ),
        ),
        (
            {"fetch": {"follower": "2", "leader": "1"}},
            (
                "op: missing; a mapping with the field 'fetch' was read; write "
                "{op: fetch, follower: ..., leader: ...}, or the line: fetch FOLLOWER LEADER;"
            ),
        ),
        ({"elect": ["1", 1]}, "write {op: elect, leader: ..., epoch: ...}, or the line: elect L"),
        ({"check": None}, "write {op: check}, or the line: check; allowed:"),
        ({"append 1 a": None}, "'append 1 a:' was read as a mapping"),
        ({"leader": "1"}, "op: missing; a mapping with the fields leader was read; write op: as"),
        ({"note": "nothing"}, "op: missing; an empty mapping was read"),
        ({"op": "fetch 2 1"}, "unknown op 'fetch 2 1' (a line is a step without op:, or write {op"),
    ],
)
def test_a_mapping_without_op_is_told_what_was_read(
    tmp_path: Path, step: object, said: str
) -> None:
    assert said in step_refused(tmp_path, step)


@pytest.mark.parametrize("shown", ["[1,2]", "[1, 2]", "1, 2", "1,2,"])
def test_a_list_of_replicas_is_shown_as_it_was_typed(tmp_path: Path, shown: str) -> None:
    said = f"{shown!r} is not a list of replicas; as text it is 1,2, without brackets or spaces"

    assert f"(isr): isr: {said}" in step_refused(tmp_path, f"isr {shown}")
    assert f"(elect): votes: {said}" in step_refused(tmp_path, f"elect 1 2 votes={shown}")
    assert f"(isr): isr: {said}" in step_refused(tmp_path, {"op": "isr", "isr": shown})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("crash 1 lose=1 foo=2", "(crash): foo: unknown field; allowed: replica, lose, power_loss"),
        ("elect 1 2 vote=2", "(elect): vote: unknown field (did you mean 'votes'?); allowed: lead"),
        ("isr 1 2 now=true", "(isr): now: unknown field; allowed: isr"),
        ("fetch folower=2 1", "folower: unknown field (did you mean 'follower'?)"),
        ("crash 1 power-loss=true", "power-loss: unknown field (did you mean 'power_loss'?)"),
        ("check deeply=true", "(check): deeply: unknown field; allowed: does"),
        ("append 1 a A foo=2", "(append): foo: unknown field; allowed: leader, label, key, ts"),
    ],
)
def test_a_name_that_the_op_lacks_is_an_unknown_field(tmp_path: Path, line: str, said: str) -> None:
    assert said in step_refused(tmp_path, line)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("append 1 k=v a=b", {"leader": "1", "label": "k=v", "key": "a=b"}),
        ("append 1 ts=5 x=y k", {"leader": "1", "ts": 5, "label": "x=y", "key": "k"}),
        ("append n=1 a A", {"leader": "n=1", "label": "a", "key": "A"}),
        ("isr 1,n=1", {"isr": ("1", "n=1")}),
        ("isr n=1,[1]", {"isr": ("n=1", "[1]")}),
        ("consume c=1 1", {"consumer": "c=1", "replica": "1"}),
        ('append 1 "a" \'A', {"leader": "1", "label": '"a"', "key": "'A"}),
    ],
)
def test_texts_and_names_may_have_any_sign(line: str, fields: dict[str, object]) -> None:
    document = BASE | {"replicas": ["1", "n=1", "[1]"], "steps": [line]}

    assert story_from(document, where="test").steps[0].fields == fields


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'append 1 "k = v" "my key"',
            'ts: expected an integer, not "v\\"" (a line has no quotes, ',
        ),
        ("append 1 label='a b' key=K", "key: given twice (a line has no quotes, 'a b' is several"),
        ('push 2 1 "a b"', "write the step as {op: push, follower: ..., leader: ..., label: ...})"),
    ],
)
def test_quotes_in_a_line_are_told_to_be_none(tmp_path: Path, line: str, said: str) -> None:
    assert said in step_refused(tmp_path, line)


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"log_end": 1}, "expect.replicas.1.log_end: unknown field (did you mean 'log'?)"),
        ({"leo": "1"}, 'expect.replicas.1.leo: expected an integer, not "1"'),
        ({"hw": None}, "expect.replicas.1.hw: expected an integer, not null"),
        ({"start": True}, "expect.replicas.1.start: expected an integer, not true"),
        ({"offsets": ["0"]}, 'expect.replicas.1.offsets: expected a list of integers, not ["0"]'),
        ({"log": "a@0"}, 'expect.replicas.1.log: expected a list of label@offset texts, not "a@0"'),
        (
            {"state": {"K": None}},
            'expect.replicas.1.state: expected a mapping of keys to labels, not {"K": null}',
        ),
        (
            {"batches": ["a@0", 1]},
            "expect.replicas.1.batches: expected a list of texts, label@offset epoch N each",
        ),
        (
            {"epochs": [[0, 0, 0]]},
            "expect.replicas.1.epochs: expected a list of [epoch, start offset], not [[0, 0, 0]]",
        ),
        ({"up": "yes"}, 'expect.replicas.1.up: expected true or false, not "yes"'),
        ([], "expect.replicas.1: expected fields"),
    ],
)
def test_a_claim_of_the_wrong_type_is_refused(tmp_path: Path, claims: object, said: str) -> None:
    assert said in refused(tmp_path, BASE | {"expect": {"replicas": {"1": claims}}})


def test_a_label_that_is_a_number_may_be_claimed_as_one() -> None:
    expect = {"replicas": {"1": {"state": {"K": 7}}}}
    story = story_from(BASE | {"expect": expect}, where="test")

    assert story.expect.replicas == {"1": {"state": {"K": "7"}}}
