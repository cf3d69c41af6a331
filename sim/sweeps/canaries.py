"""Canaries: known defects, to say what a green sweep is worth.

A canary is a behaviour that some release had, and that its successor mended: a rule has it as a
value. So it is planted by rules alone, and goes wherever a sweep goes. With one, each rule set has
a twin that differs by the canary and meets the same cases; the canary is found when a twin violates
something in a case in which the rule set does not.

The runs of one case meet the same, so it is cases that count: a case is clean if all its runs hold,
and shows a canary if any of its runs would not with it. How often clean cases show one was measured
for the plans in `scenarios/sweeps` (`python -m tests.zoo.canaries`), and is kept in
`canary_shares.json` for what cases were drawn from, whatever their seed and number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from sim.errors import BadInput, did_you_mean
from sim.foreign.lines import one_line
from sim.rules import settings_from
from sim.rules.rules import RuleValue, Settings
from sim.sweeps.plan import Plan, Sweep, number_runs

SHARES = Path(__file__).with_name("canary_shares.json")
DIGEST_BYTES = 8


class Canary(NamedTuple):
    """A defect that rules can plant.

    Attributes:
        name: What it is called.
        means: What a broker does wrong, in a sentence.
        source: What had it, or mended it.
        rules: The values that plant it.
        where: Values that a rule set must have for the canary to matter.
    """

    name: str
    means: str
    source: str
    rules: Mapping[str, RuleValue]
    where: Mapping[str, RuleValue] = {}

    def planted(self, settings: Settings) -> Settings | None:
        """The rules with it; None = it would change nothing, or nothing that matters."""
        values = settings.as_dict()
        if any(values[name] != value for name, value in self.where.items()):
            return None
        found = settings_from(self.rules, base=settings)
        return None if found == settings else found


CANARIES: dict[str, Canary] = {
    one.name: one
    for one in (
        Canary(
            "joined-too-early",
            "a follower joins the in-sync set with all that its leader knows to be committed,"
            " though it lacks what the leader before had committed",
            "Kafka before Partition.isFollowerInSync asked for the start of the epoch",
            {"isr_join": "hw_only"},
            {"commit": "isr"},
        ),
        Canary(
            "cut-to-the-high-watermark",
            "a new follower cuts its log to its own high watermark, whatever its leader has",
            "Kafka before KIP-101",
            {"truncation": "high_watermark"},
        ),
        Canary(
            "last-abort-only",
            "all ABORT markers count as records of one key, of which the last one stays",
            "Redpanda before PR 16295",
            {"marker_lookup": "last_abort"},
        ),
        Canary(
            "emptied-before-installed",
            "a follower empties its log when the first chunk of a snapshot has come",
            "KIP-630, which replaces the log when the snapshot is complete",
            {"snapshot_install": "at_first_chunk"},
        ),
        Canary(
            "cleaned-before-committed",
            "the cleaner goes up to the log end, so that a record which is lost evicts others",
            "Kafka before KAFKA-13194",
            {"cleaner_bound": "leo"},
        ),
    )
}
"""Those that ship, by name."""


def canary_named(name: str) -> Canary:
    """The canary of a name. Raises BadInput for any other."""
    if name not in CANARIES:
        close = did_you_mean(name, CANARIES)
        raise BadInput(f"--canary {one_line(name)}: no canary{close}; allowed: {_listed()}")
    return CANARIES[name]


def _listed() -> str:
    return ", ".join(CANARIES)


def twins_of(sweep: Sweep, canary: Canary) -> dict[int, int]:
    """Number of a rule set -> that of the one which is the same with the canary."""
    places = {one.settings: one.index for one in sweep.rule_sets}
    planted = ((one.index, canary.planted(one.settings)) for one in sweep.rule_sets)
    return {index: places[found] for index, found in planted if found in places}


def with_canary(plan: Plan, name: str) -> Plan:
    """The plan with a twin for each rule set in which the canary matters.

    Raises BadInput when there is no such canary or rule set, or they are too many.
    """
    canary = canary_named(name)
    numbered = number_runs(plan, count=1).rule_sets
    known = {one.settings for one in numbered}
    rule_sets, labels = [*plan.rule_sets], [*plan.labels]
    for rule_set in numbered:
        planted = canary.planted(rule_set.settings)
        if planted is not None and planted not in known:
            rule_sets.append({**plan.rule_sets[rule_set.index], **canary.rules})
            labels += [f"{rule_set.label}, {name}"] * bool(plan.labels)
    if len(rule_sets) == len(plan.rule_sets):
        raise BadInput(
            f"--canary {name}: changes nothing under the rules of this plan; others: {_listed()}"
        )
    changed = {"rule_sets": rule_sets, "labels": labels, "notes": []}
    try:
        return Plan.model_validate_json(
            plan.model_copy(update=changed).model_dump_json(exclude_unset=True)
        )
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        raise BadInput(f"--canary {name}: with its twins the plan is refused: {why}") from None


class Found(NamedTuple):
    """What became of a canary.

    Attributes:
        name: Its name.
        cases: In how many cases a twin violated something that its rule set did not, at least.
        compared: How many cases there were, each seed in every environment.
    """

    name: str
    cases: int
    compared: int


def found_in(sweep: Sweep, content: Mapping[str, Any], name: str) -> Found:
    """What the statistics of a finished sweep (`tallies.json`) say of its canary."""
    twins = twins_of(sweep, CANARIES[name])
    cases = 0
    for pair in content["pairs"]:
        left, right = pair["left"], pair["right"]
        if twins.get(left) == right or twins.get(right) == left:
            side = "only_right" if twins.get(left) == right else "only_left"
            cases = max([cases, *(each[side] for each in pair["invariants"].values())])
    return Found(name, cases, content["cases"])


class Share(NamedTuple):
    """How often clean cases show a canary that is planted.

    Attributes:
        canary: Its name.
        drawn: Digest of what they are drawn from, see `drawn_from`.
        environment: That in words: a plan and an environment of it.
        cases: How many clean ones there were.
        shown: How many of them showed it.
        low: Low end of the exact interval of the share, 95 % two-sided.
        high: Its high end.
    """

    canary: str
    drawn: str
    environment: str
    cases: int
    shown: int
    low: float
    high: float


def shares() -> list[Share]:
    """All that were measured."""
    return [Share(**one) for one in json.loads(SHARES.read_text(encoding="utf-8"))]


def drawn_from(sweep: Sweep, environment: int) -> str:
    """Digest of all that decides the runs of an environment but seeds and numbers of cases.

    What has its default is left out, so that a rule or a field that is new changes nothing.
    """
    mix, usual = sweep.environments[environment].mix, Settings()
    what = {
        "generate": mix.model_dump(mode="json", exclude_defaults=True),
        "rules": [one.settings.differing_from(usual) for one in sweep.rule_sets],
    }
    text = json.dumps(what, sort_keys=True).encode()
    return blake2b(text, digest_size=DIGEST_BYTES).hexdigest()


class Worth(NamedTuple):
    """What the clean cases of a sweep are worth.

    Attributes:
        canary: Name of a defect that is as hard to find.
        share: How many clean cases show it where they are drawn as these were.
        cases: How many clean cases there were in which it could have shown: of one environment,
            since the others have the same seeds.
        probability: That at least one of them would have shown it.
        at_least: The same by the low ends of the intervals of what was measured.
    """

    canary: str
    share: float
    cases: int
    probability: float
    at_least: float

    def __str__(self) -> str:
        """In a line."""
        chance = f"{self.probability:.1%} (at least {self.at_least:.1%})"
        return (
            f"{self.cases:,} clean cases: a defect as hard to find as {self.canary}"
            f" ({self.share:.2%} of such cases) would have been met with probability {chance}"
        )


def worth(sweep: Sweep, content: Mapping[str, Any], known: Iterable[Share]) -> list[Worth]:
    """What the clean cases of a finished sweep are worth, by the hardest canary first.

    Nothing is said where nothing was measured.
    """
    measured = {(one.canary, one.drawn): one for one in known if one.shown}
    drawn = [drawn_from(sweep, number) for number in range(len(sweep.environments))]
    found = []
    for name in CANARIES:
        here = [
            _worth(measured[name, digest], table["clean"])
            for digest, table in zip(drawn, content["environments"], strict=True)
            if (name, digest) in measured and table["clean"]
        ]
        if here:
            found.append(max(here, key=lambda one: one.at_least))
    return sorted(found, key=lambda one: one.share)


def _worth(measured: Share, clean: int) -> Worth:
    """What so many clean cases of one environment are worth."""
    share = measured.shown / measured.cases
    met, at_least = (1.0 - (1.0 - each) ** clean for each in (share, measured.low))
    return Worth(measured.canary, share, clean, met, at_least)
