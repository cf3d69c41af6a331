"""Cost of the last rounds of a scenario: how long they wait, and how many events that takes.

While they wait nothing happens in the model but what happens anyway: cleaners look, followers
fetch. With the default retention, a day, that alone uses up what a run may take.
"""

from __future__ import annotations

from typing import NamedTuple

from sim.files.limits import DURATION
from sim.protocol.rules import Rules
from sim.simulate.faults.kinds import RemoveReplica
from sim.simulate.scenario.model import Scenario, Topic


class RoundWait(NamedTuple):
    """How long a last round waits, and the setting that says so."""

    ms: int
    setting: str


def round_wait(rules: Rules, topic: Topic) -> RoundWait:
    """The longer of the two times after which a pass may remove more."""
    waits = (
        RoundWait(rules.topic.delete_retention_ms, "delete.retention.ms"),
        RoundWait(topic.min_compaction_lag_ms, "min.compaction.lag.ms"),
    )
    return max(waits, key=lambda wait: wait.ms)


def too_long_at_rest(scenario: Scenario) -> str | None:
    """Complaint that the last rounds take too many events; None = perhaps they do not."""
    wait = round_wait(scenario.rules, scenario.topic)
    all_ms = scenario.last_rounds * wait.ms
    several = scenario.last_rounds > 1
    rounds = f"{scenario.last_rounds} round{'s' if several else ''} of {wait.ms} ms"
    if all_ms > DURATION.most:
        verb = "are" if several else "is"
        return f"{rounds} {verb} more than {DURATION.most} ms ({DURATION.name})"
    least, most = _least_events(scenario, all_ms), scenario.limits.max_events
    if least <= most:
        return None
    verb = "take" if several else "takes"
    return (
        f"{rounds} ({wait.setting}) {verb} {least} simulator events or more, above "
        f"limits.max_events, {most}; make {wait.setting} shorter"
    )


def _least_events(scenario: Scenario, wait_ms: int) -> int:
    """Looks of cleaners, fetches and their answers in so long a time without a fault.

    Those that a fault may have removed before are left out: the busiest.
    """
    network, rules = scenario.network, scenario.rules
    gone = sum(isinstance(fault, RemoveReplica) for fault in scenario.faults)
    kept = max(1, len(scenario.replicas) - gone)
    backoffs = [replica.cleaner_backoff_ms for replica in scenario.replicas]
    looks = sorted(0 if backoff is None else wait_ms // backoff for backoff in backoffs)
    latencies = [network.latency_ms, *(link.latency_ms for link in network.links)]
    answered_ms = scenario.timers.fetch_wait_ms + 2 * max(1, *(longest for _, longest in latencies))
    cleaners = 0 if rules.cleaner.cleanup == "snapshot" else sum(looks[:kept])
    return cleaners + 2 * (kept - 1) * (wait_ms // answered_ms)
