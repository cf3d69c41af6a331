"""Rules under which a cluster may never come to rest, and what such a run shows then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from sim.protocol.events import Appended, Event, LeaderElected, SnapshotOffered
from sim.protocol.rules.spec import RuleValue
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.model import Scenario

Trace = list[tuple[int, Event]]


def _empty_epochs(trace: Trace) -> list[bool]:
    """Of each time that a replica came to lead, whether nobody wrote anything until the next."""
    wrote = [type(event) for _, event in trace if isinstance(event, LeaderElected | Appended)]
    return [
        then is LeaderElected
        for kind, then in pairwise([*wrote, LeaderElected])
        if kind is LeaderElected
    ]


def _wrote_nothing(trace: Trace) -> bool:
    """Some leader wrote nothing in its epoch."""
    return any(_empty_epochs(trace))


def _last_wrote_nothing(trace: Trace) -> bool:
    """The last leader wrote nothing in its epoch."""
    return _empty_epochs(trace)[-1:] == [True]


def _two_lead(trace: Trace) -> bool:
    """Two replicas were elected for one epoch."""
    won = {(event.epoch, event.replica) for _, event in trace if isinstance(event, LeaderElected)}
    return len({epoch for epoch, _ in won}) < len(won)


def _offered_for_ever(trace: Trace) -> bool:
    """A follower was offered the same snapshot again and again."""
    offers = Counter(event for _, event in trace if isinstance(event, SnapshotOffered))
    return max(offers.values(), default=0) >= OFFERS


OFFERS = 20
RESTLESS: dict[str, tuple[dict[str, RuleValue], Callable[[Trace], bool]]] = {
    "epochs/epochcache_08_an_empty_epoch_is_kept.yaml": ({"epoch_cut": "kept"}, _wrote_nothing),
    "bootstrap/boot_03_held_snapshot_is_ignored.yaml": (
        {"held_snapshot": "ignored"},
        _offered_for_ever,
    ),
    "raft/raft_16_no_commit_before_the_first_write.yaml": (
        {"commit": "majority", "leader_change_record": False},
        _last_wrote_nothing,
    ),
    "raft/raft_25_voters_compare_logs_only.yaml": (
        {"commit": "majority", "vote_storage": "none"},
        _two_lead,
    ),
    "findings/finding_22_offered_the_snapshot_it_has.yaml": (
        {"snapshot_offer": "by_epoch", "leader_change_record": False},
        _offered_for_ever,
    ),
}
"""Rules under which a cluster may never come to rest, by the story that shows why.

With what the story shows, too: a run under these rules that never rests shows it as well.
"""


def is_stuck(scenario: Scenario, run: Run) -> bool:
    """True when a run did not come to its end, and no story shows that its rules allow this."""
    if run.cut_off:
        return True
    ended = run.reason is None or run.outside is not None
    if ended or "fetching-failed" in run.reached:  # truncation/timed_fetch_begins_in_mid_batch
        return False
    trace = [*run_scenario(scenario, keep_events=True).events]
    values = scenario.rules.as_dict().items()
    return not any(rules.items() <= values and shows(trace) for rules, shows in RESTLESS.values())
