"""Who may lead a partition cleanly: the in-sync set and the eligible leader replicas (KIP-966).

What the controller keeps of a partition, as values: nothing here knows who is alive.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sim.rules.rules import Rules


class Candidates(NamedTuple):
    """The replicas that may have everything that is committed.

    Attributes:
        isr: The in-sync set.
        elr: With `eligible_leaders: elr`: left the set while it was too small to commit anything.
        last_leader: Who led when nobody was in either set any more; None = somebody is.
    """

    isr: tuple[str, ...]
    elr: tuple[str, ...] = ()
    last_leader: str | None = None


def changed(
    before: Candidates, isr: tuple[str, ...], *, unclean: Collection[str] = (), rules: Rules
) -> Candidates:
    """The candidates after the in-sync set has become `isr`.

    Without eligible leader replicas the last member stays: only it may lead when it is back. With
    them, who leaves a set that is smaller than `min_isr` after that stays eligible, unless it shut
    down uncleanly (`unclean`), for nothing is committed without it until the set is large enough
    (PartitionChangeBuilder.maybePopulateTargetElr).
    """
    if rules.election.eligible_leaders == "isr":
        return Candidates(isr or before.isr)
    if len(isr) >= rules.topic.min_isr:
        return Candidates(isr)
    left = [name for name in (*before.elr, *before.isr) if name not in isr and name not in unclean]
    return Candidates(isr, tuple(dict.fromkeys(left)), before.last_leader)


def clean_choice(candidates: Candidates, able: Collection[str]) -> tuple[str, ...]:
    """The replicas of `able` among which a leader may be chosen without a loss: the first kind.

    In sync, else eligible, else who led last if nobody else is left
    (PartitionChangeBuilder.electAnyLeader, canElectLastKnownLeader).
    """
    for names in (candidates.isr, candidates.elr):
        found = tuple(name for name in names if name in able)
        if found:
            return found
    last = candidates.last_leader
    nobody = not candidates.isr and not candidates.elr
    return (last,) if nobody and last is not None and last in able else ()


def led_by(candidates: Candidates, leader: str, *, rules: Rules) -> Candidates:
    """The candidates when `leader` is chosen: alone in sync, if it was not in sync."""
    if leader in candidates.isr:
        return candidates._replace(last_leader=None)
    chosen = changed(candidates, (leader,), rules=rules)
    return chosen._replace(last_leader=None)
