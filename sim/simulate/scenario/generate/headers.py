"""Mistakes of random producers with the version header (KIP-280, `compaction.strategy.header`).

A share of the sends has a version of 0 or below, the header twice, in capitals, or bytes that are
no version. What counts then the rules say: `header_form`.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, stream
from sim.simulate.scenario.model import Scenario, SentHeader

_NO_VERSIONS = (b"", b"\x80", b"\xff" * 7, b"\xff" * 8 + b"\x01", b"\xff" * 12)
"""None of them is 8 bytes long; in some, a number of variable length has no end."""


def with_header_mistakes(seed: int, mix: Mix, scenario: Scenario) -> Scenario:
    """The scenario, perhaps with producers that make mistakes; nothing else of it changes."""
    draws = Draws(seed, "header mistakes")
    if not draws.happens(mix.header_mistakes):
        return scenario
    share = 0.05 + 0.45 * draws.random()
    rng = stream(seed, "header mistakes/sends")
    found: list[tuple[int, tuple[SentHeader, ...]]] = []
    for index, send in enumerate(scenario.workload.sends):
        luck, kind, number = rng.random(), rng.random(), rng.getrandbits(32)
        if luck < share and send.version is not None:
            found.append((index, _mistake(kind, send.version, Random(number))))
    applications = replace(scenario.applications, headers=tuple(found))
    return replace(scenario, applications=applications)


def _mistake(kind: float, version: int, rng: Random) -> tuple[SentHeader, ...]:
    """The headers of one record, each kind as likely as the others."""
    right = SentHeader(version)
    if kind < 0.25:
        return (SentHeader(-rng.randrange(version + 1)),)
    if kind < 0.5:
        older = SentHeader(max(0, version - 1 - rng.randrange(3)))
        return (older, right) if rng.random() < 0.5 else (right, older)
    if kind < 0.75:
        return (SentHeader(version, capitals=True),)
    spoilt = SentHeader(raw=rng.choice(_NO_VERSIONS))
    return rng.choice(((spoilt,), (spoilt, right), (right, spoilt)))
