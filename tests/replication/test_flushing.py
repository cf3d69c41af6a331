"""What is flushed when, and so what a loss of power takes."""

import pytest

from sim.protocol.log import Log, LogConfig
from sim.protocol.replication import Replica
from sim.protocol.replication.recovery import durable_end
from sim.protocol.rules import Rules
from tests.check.events import batch
from tests.replication.replicas import fetch, leading


def log_of(count: int, **config: int) -> Log:
    log = Log(LogConfig(**config))
    for offset in range(count):
        log.append(batch(offset, "k"), now_ms=0)
    return log


@pytest.mark.parametrize(
    ("flush", "after_append", "after_copy"),
    [("acknowledged", 0, 0), ("on_append", 2, 2), ("before_fetch", 2, 0), ("interval", 0, 0)],
)
def test_who_flushes_an_append_at_once(flush: str, after_append: int, after_copy: int) -> None:
    rules = Rules.of(commit="isr", flush=flush)
    leader, follower = leading(records=2, rules=rules), Replica("r2")
    fetch(leader, follower, rules=rules)

    assert leader.log.flushed_end == after_append
    assert follower.log.flushed_end == after_copy


@pytest.mark.parametrize(
    ("flush", "acknowledged", "committed"),
    [("acknowledged", 3, 4), ("before_fetch", 3, 1), ("interval", 1, 1), ("on_append", 1, 1)],
)
def test_what_the_rule_takes_for_flushed(flush: str, acknowledged: int, committed: int) -> None:
    log = log_of(5)
    log.flushed_end = 1
    log.acknowledged_end = 3
    assert durable_end(log, rules=Rules.of(flush=flush)) == acknowledged

    log.acknowledged_end, log.high_watermark = 0, 4
    assert durable_end(log, rules=Rules.of(flush=flush)) == committed


def test_flush_messages_flushes_when_so_many_offsets_are_not() -> None:
    assert [log_of(count, flush_messages=3).flushed_end for count in range(8)] == [
        *[0, 0, 0],
        *[3, 3, 3],
        *[6, 6],
    ]
