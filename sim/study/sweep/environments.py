"""Environments of a sweep: the same random draws with and without something, side by side.

A rate is a rate of something. Scripted hunts (`tail_hunts`) make rare things frequent; so a plan
names its environments, `plain` without them and `hunted` with them, and every table is there for
each. Every draw is a case of each environment: what differs in two environments has streams of
chance of its own, so the hunted case is the plain one with a hunt. To split the cases of one
environment by whether they were hunted would not do: a hunt needs a long idle phase, and cases
that have one differ in more than the hunt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sim.simulate.scenario.generate.mix import Mix

PLAIN = "plain"
HUNTED = "hunted"


@dataclass(frozen=True, slots=True)
class Environment:
    """A name and the mix from which cases are drawn."""

    name: str
    mix: Mix


def environments_of(
    generate: Mix, changes: Mapping[str, Mapping[str, Any]]
) -> tuple[Environment, ...]:
    """The environments of a plan: `generate` with the changes of each, by name.

    Without any there is one, `generate` itself: `hunted` if it has scripted hunts, else `plain`.

    Raises ValueError for what no mix has; pydantic's ValidationError is one.
    """
    if not changes:
        hunts = generate.tail_hunts or generate.election_hunts or generate.disk_hunts
        return (Environment(HUNTED if hunts else PLAIN, generate),)
    return tuple(Environment(name, changed(generate, own)) for name, own in changes.items())


def case_seed(seed: int, turns: int, case_id: int) -> int:
    """The seed of a case's scenario, in [0, 2**63); one draw has one in every environment.

    It is a hash of (seed of the sweep, draw): a case is the same however many others there are.

    Args:
        seed: Of the sweep.
        turns: How many environments take turns.
        case_id: Number of the case.
    """
    digest = blake2b(f"{seed}/{case_id // turns}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def changed(generate: Mix, changes: Mapping[str, Any]) -> Mix:
    """`generate` with the changes of an environment.

    Raises ValueError for what no mix has; pydantic's ValidationError is one.
    """
    if "mix" in changes:
        raise ValueError("mix: belongs into generate; an environment names what differs from it")
    fields = {**generate.model_dump(), **changes}
    weights = changes.get("weights")
    if isinstance(weights, Mapping):
        fields["weights"] = {**generate.weights.model_dump(), **weights}
    return Mix.model_validate(fields)
