"""What is on disk: when a replica flushes its log, and so what a loss of power takes from it.

A process that is killed loses nothing that it wrote: the pages are the operating system's. A
machine that loses power keeps what was flushed. `Log.flushed_end` is moved by the log itself (a
roll, `flush.messages`) and by the rule `flush`. The values of the rule:

* `acknowledged`: what a follower fetched past and what a leader committed counts as flushed; for
  the rest a fault says how much goes (`lose_batches`), or all of it does.
* `on_append`: every append, by leader or follower (`flush.messages` = 1; the WAL of etcd).
* `before_fetch`: a leader after each append, a follower before the fetch that acknowledges it
  (KafkaRaftClient.flushLeaderLog, appendAsFollower). A leader counts itself for the high watermark
  before it flushes, but nobody else acts in between: it is one step here.
* `interval`: as `flush.messages` and `flush.ms` say. Kafka's default is neither: then the operating
  system decides, and what is sure to be on disk is what was closed by a roll (UnifiedLog.roll).
"""

from __future__ import annotations

from sim.log import Log
from sim.rules.rules import Rules

ACKNOWLEDGED, ON_APPEND, BEFORE_FETCH = "acknowledged", "on_append", "before_fetch"


def flush_after_append(log: Log, *, rules: Rules) -> None:
    """A leader has appended."""
    if rules.storage.flush in (ON_APPEND, BEFORE_FETCH):
        log.flush()


def flush_after_copy(log: Log, *, rules: Rules) -> None:
    """A follower has appended what it fetched."""
    if rules.storage.flush == ON_APPEND:
        log.flush()


def durable_end(log: Log, *, rules: Rules) -> int:
    """Up to where a log survives a loss of power (exclusive)."""
    end = log.flushed_end
    if rules.storage.flush in (ACKNOWLEDGED, BEFORE_FETCH):
        end = max(end, log.acknowledged_end)
    if rules.storage.flush == ACKNOWLEDGED:
        end = max(end, log.high_watermark)
    return min(end, log.log_end_offset)
