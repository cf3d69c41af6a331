"""KIP-280: its settings, its price, and what the two pieces of code made of its versions.

Which record wins by which strategy: `tests/check/test_promise.py` and the stories of
`scenarios/kip280`. `text` is the KIP's header strategy, `pull_request` that of apache/kafka PR 8103
(closed), `fork` that of microsoft/kafka PR 45 (merged there).
"""

from pathlib import Path

import pytest

from sim.protocol.compaction import STRATEGIES, UnreadableVersion, entry_bytes, map_capacity
from sim.protocol.compaction.strategies import (
    encode_varint,
    encode_version,
    strategy_for,
    unmapped_version,
)
from sim.protocol.log import Record
from sim.simulate.scenario.file.load import load_scenario
from tests.compaction.logs import batch, offsets_of, passes, segment
from tests.scenario.texts import file_of

FORMS = {"text": "last_long", "pull_request": "first_varint", "fork": "unchecked_varint"}
Headers = tuple[tuple[str, bytes], ...]


def test_a_version_costs_eight_more_bytes_an_entry_of_the_offset_map() -> None:
    """Proposed Changes, memory: 24 bytes a key by offset, 32 by version."""
    buffer = 24 * 32 * 100
    keys = {"offset": 3_200, "timestamp": 2_400, "header": 2_400}

    assert {name: map_capacity(buffer, 1.0, STRATEGIES[name]) for name in keys} == keys
    assert {entry_bytes(strategy_for("header", header_form=form)) for form in FORMS.values()} == {
        32
    }


STRATEGY, HEADER = "compaction.strategy", "compaction.strategy.header"
BROKER = f"broker: {{log.cleaner.{STRATEGY}: header, log.cleaner.{HEADER}: sequence}}\n"
DRAFTS = "broker: {strategy_names: header_keys}\n"


@pytest.mark.parametrize(
    ("text", "strategy", "header"),
    [
        ("", "offset", ""),
        ("topic: {}\n", "offset", ""),
        (f"topic: {{{STRATEGY}: null}}\n", "offset", ""),
        (f'broker: {{log.cleaner.{STRATEGY}: ""}}\n', "offset", ""),
        (f'{BROKER}topic: {{{STRATEGY}: " "}}\n', "offset", ""),
        (BROKER, "header", "sequence"),
        (f"{BROKER}topic: {{{STRATEGY}: null}}\n", "header", "sequence"),
        (f"{BROKER}topic: {{{STRATEGY}: timestamp}}\n", "timestamp", ""),
        (f"{BROKER}topic: {{{HEADER}: lsn}}\n", "header", "lsn"),
        (f"topic: {{{STRATEGY}: HEADER, {HEADER}: v}}\n", "header", "v"),
        (f"rules: {{strategy_header: v}}\ntopic: {{{STRATEGY}: header}}\n", "header", "v"),
        (f"{DRAFTS}topic: {{{STRATEGY}: Lsn}}\n", "header", "Lsn"),
        (f"{DRAFTS}topic: {{{STRATEGY}: header}}\n", "header", "header"),
        (f"{DRAFTS}topic: {{{STRATEGY}: timestamp}}\n", "timestamp", ""),
    ],
)
def test_the_topics_setting_stands_for_the_brokers_each_for_itself(
    tmp_path: Path, text: str, strategy: str, header: str
) -> None:
    """Public Interfaces; by drafts of 2018 any name but offset and timestamp is a header's."""
    rules = load_scenario(file_of(tmp_path, text)).rules

    assert rules.cleaner.strategy == strategy
    assert strategy != "header" or rules.topic.strategy_header == header


def long(version: int) -> tuple[str, bytes]:
    return "version", encode_version(version)


def varint(version: int) -> tuple[str, bytes]:
    return "version", encode_varint(version)


@pytest.mark.parametrize(
    ("earlier", "later", "text", "pull_request", "fork"),
    [
        # Eight bytes are a zero to both pieces of code, so the offset decides.
        ((long(5),), (long(3),), 0, 1, 1),
        # A variable-length number is no version to the text.
        ((varint(5),), (varint(3),), 1, 0, 0),
        # Of a duplicated header the text takes the last one, both others the first.
        ((varint(9), varint(1)), (varint(5),), 1, 0, 0),
        ((long(9), long(1)), (long(5),), 1, 1, 1),
        # What is not above zero is no version to the pull request; to the fork none is -1.
        ((varint(0),), (varint(-5),), 1, 1, 0),
        ((varint(-5),), (varint(-7),), 1, 1, 0),
        ((), (varint(-5),), 1, 1, 0),
        ((), (varint(-1),), 1, 1, 1),
        ((varint(0),), (), 1, 1, 0),
        ((varint(1),), (), 1, 0, 0),
    ],
)
def test_the_same_records_under_the_text_and_under_each_piece_of_code(
    earlier: Headers, later: Headers, text: int, pull_request: int, fork: int
) -> None:
    """Both read SkimpyOffsetMap.extractVersion, put and shouldRetainRecord."""
    log = [segment(*(batch(Record(at, "k", "v", 0, h)) for at, h in enumerate((earlier, later))))]
    for name, winner in (("text", text), ("pull_request", pull_request), ("fork", fork)):
        strategy = strategy_for("header", header_form=FORMS[name])
        assert offsets_of(passes(log, 0, strategy=strategy).segments) == [winner], name


def test_a_byte_that_promises_another_is_no_version_to_one_and_stops_the_other() -> None:
    """The number runs off the buffer, even if the key has one record alone."""
    log = [segment(batch(Record(0, "k", "v", headers=(("version", b"\x80"),))))]
    pull_request, fork = (strategy_for("header", header_form=f) for f in [*FORMS.values()][1:])
    reads_all = unmapped_version("header", "unchecked_varint")

    assert offsets_of(passes(log, 0, strategy=pull_request).segments) == [0]
    for capacity in (None, 9):
        changes = {"unmapped_version": reads_all, "map_capacity": capacity}
        stopped = passes(log, 0, strategy=fork, **changes)
        assert isinstance(stopped.failure, UnreadableVersion)
        assert (stopped.replaced, stopped.next_dirty_offset) == (0, 0)
