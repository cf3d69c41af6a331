"""Changes and futures of a run that avoid its violation.

`heals` finds single changes that avoid it: one rule, one fault or one step; `near_miss_of` finds
the near miss of a shrunk failure: the same story or scenario with another value of one rule, where
nothing is violated. A rule may heal a shrunk failure and not the original: shrinking may have made
a tombstone the log end, so that a fix for log ends keeps it. So the rule is tried on the original,
too.

`point_of_no_return` finds the first moment after which a violation is unavoidable. Many futures are
drawn from a moment on; the share of them that violate the same invariant estimates P(violation |
the run up to that moment). At the start it is the base rate; after the violation it is 1. In
between it rises as the conditions come about. Bisection finds where it reaches 1: with 20 of 20
futures violated it is at least 83 % with confidence 95 %. The bisection is done with a moment once
a future lacks the violation; the remaining time goes into the shares.

In a future, chance decides again when and where faults strike, when producers send, the latency and
the loss of every message, and election timeouts. What people decide stays: what is sent, settings
and their changes, consumers, the cluster. A story has no such point: it has no randomness.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from math import comb, inf
from operator import itemgetter
from typing import NamedTuple, TypeVar

from sim.bounds import Inconclusive
from sim.check import INVARIANTS, Kind, Violation
from sim.check.registry import discover
from sim.diagnose.explain.case import Case
from sim.diagnose.explain.causality import causal_cone
from sim.diagnose.explain.past import Past
from sim.protocol.events import Event
from sim.protocol.events.sentences import describe
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.spec import RuleValue, shown
from sim.simulate.cluster.simulation import Fork
from sim.simulate.faults import ROLES
from sim.simulate.run import conclusive
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import judge_scenario, judging
from sim.simulate.scenario.generate.streams import Draws
from sim.simulate.scenario.model import Scenario, Workload
from sim.simulate.story.format import STORY_DEFAULTS, Story, StoryExpect

V = TypeVar("V", bound=Story | Scenario)

FIXES = ("fix", "tombstone_removal", "lag_guard", "truncation")
"""Rules whose values were proposed as fixes; they are tried first."""

MOST_TRIED = 40
"""How many healing rules are tried on the original, whose run may be long."""

IN_STORIES_ALONE = {("offset_assignment", "follower_assigned"), ("tombstone_mark", "explicit")}
"""Values of rules that have a meaning only with steps of a story."""


def rule_changes(value: Story | Scenario) -> Iterator[tuple[str, RuleValue]]:
    """Yields each other value of each rule: fixes, then defaults, then as in `replog list rules`.

    For a timed scenario, values with a meaning only in stories are left out.
    """
    default = (STORY_DEFAULTS if isinstance(value, Story) else Rules()).as_dict()
    own = value.rules.as_dict()
    changes = [(name, setting) for name in FIXES for setting in RULES[name].values]
    changes += [(name, default[name]) for name in own]
    changes += [(name, setting) for name in own for setting in RULES[name].values]
    in_stories = set() if isinstance(value, Story) else IN_STORIES_ALONE
    for name, setting in dict.fromkeys(changes):
        if own[name] != setting and (name, setting) not in in_stories:
            yield name, setting


def with_rule(value: V, name: str, setting: RuleValue) -> V:
    """Changes the value of one rule."""
    return replace(value, rules=value.rules.with_values({name: setting}), preset=None)


def violated_by(value: Story | Scenario, invariant: str) -> list[str]:
    """Runs a story or a scenario and lists the violated invariants, in order.

    Liveness invariants other than `invariant` do not count; of a scenario that violates it, it is
    all.

    Raises:
        Inconclusive: It was judged only up to a bound, or up to where it left the durability
            contract, and had not violated `invariant` by then.
    """
    if isinstance(value, Scenario):
        run = judge_scenario(value, (*judging(value), invariant))
        if invariant in run.violated:
            return [invariant]
        if run.reason is not None:
            raise Inconclusive(f"{run.id}: {run.reason}")
    else:
        run = run_story(replace(value, expect=StoryExpect((invariant,))))
    liveness = {name for name, known in INVARIANTS.items() if known.kind is Kind.LIVENESS}
    return [one for one in conclusive(run).violated if one == invariant or one not in liveness]


class Healing(NamedTuple):
    """A single change under which an invariant is not violated.

    Attributes:
        kind: `rule`, `fault` or `step`.
        change: Change in words: `fix: empty_batch`, `without fault 2, partition r3 at 1,000 ms`,
            `without step 4, crash r1`.
        still: Other invariants violated with it, liveness left out; empty if there are none.
    """

    kind: str
    change: str
    still: tuple[str, ...]


class Failed(NamedTuple):
    """A single change with which the run ends in an error, so that its effect is unknown.

    Attributes:
        kind: As in `Healing`.
        change: As in `Healing`.
        error: Class and first line of the error.
    """

    kind: str
    change: str
    error: str


class Healings(NamedTuple):
    """All single changes that heal.

    Attributes:
        found: Healing changes in the order tried, those with nothing violated first.
        failed: Changes that ended in an error, in the order tried.
        tried: Number of changes tried.
        complete: False if the budget was over before all were tried.
    """

    found: tuple[Healing, ...]
    failed: tuple[Failed, ...]
    tried: int
    complete: bool


def heals(value: Story | Scenario, invariant: str, *, within_s: float | None = None) -> Healings:
    """Finds the single changes that avoid a violation: a rule's value, or a step or fault less.

    A step that adds a replica is never left out: later steps could name it.

    Args:
        value: A story or a scenario that violates the invariant.
        invariant: Name of the invariant.
        within_s: Limit in seconds; None without one.
    """
    discover()
    until = time.monotonic() + (inf if within_s is None else within_s)
    changes, tried = list(_changes(value)), 0
    found: list[Healing] = []
    failed: list[Failed] = []
    for kind, words, changed in changes:
        if time.monotonic() > until:
            break
        tried += 1
        try:
            violated = violated_by(changed(), invariant)
        except Exception as error:  # noqa: BLE001 - an error is an answer, too
            line = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            failed.append(Failed(kind, words, line.removesuffix(": ")))
            continue
        if invariant not in violated:
            found.append(Healing(kind, words, tuple(sorted(violated))))
    found.sort(key=lambda healing: bool(healing.still))
    return Healings(tuple(found), tuple(failed), tried, tried == len(changes))


def _changes(
    value: Story | Scenario,
) -> Iterator[tuple[str, str, Callable[[], Story | Scenario]]]:
    """Yields kind and words of each change, and the function that makes it."""
    for name, setting in rule_changes(value):
        yield "rule", f"{name}: {shown(setting)}", partial(with_rule, value, name, setting)
    if isinstance(value, Scenario):
        for index, fault in enumerate(value.faults):
            words = f"without fault {index + 1}, {fault.kind} {fault.target} at {fault.at_ms:,} ms"
            faults = (*value.faults[:index], *value.faults[index + 1 :])
            yield "fault", words, partial(replace, value, faults=faults)
        return
    for index, step in enumerate(value.steps):
        if step.op != "add_replica":
            steps = (*value.steps[:index], *value.steps[index + 1 :])
            words = f"without step {step.number}, {step.line}"
            yield "step", words, partial(replace, value, steps=steps)


class NearMiss(NamedTuple):
    """A story or scenario without violations that differs from a failing one in one rule.

    Attributes:
        value: Story or scenario with the other value of the rule.
        rule: Name of the rule.
        setting: Value of the rule.
        heals_origin: True if the original does not violate the invariant with it, either.
    """

    value: Story | Scenario
    rule: str
    setting: RuleValue
    heals_origin: bool = True

    @property
    def change(self) -> str:
        """The change in words: `fix: empty_batch`."""
        return f"{self.rule}: {shown(self.setting)}"


def near_miss_of(
    small: Story | Scenario, invariant: str, origin: Story | Scenario | None = None
) -> NearMiss | None:
    """Finds the first change of one rule under which nothing is violated; None without one.

    Tried first are the fixes, then the defaults of the rules that differ from them, then all other
    values in the order of `replog list rules`. Of the first `MOST_TRIED` that heal `small`, those
    that heal the origin, too, are preferred. Among equals, those that heal by making steps do
    nothing come last, such as `cleanup: compact` for a step that takes a snapshot.

    Args:
        small: A story or a scenario that violates the invariant.
        invariant: Name of the invariant; other liveness invariants do not count.
        origin: The failure that it was shrunk from; None if it was not shrunk.
    """
    tried: list[tuple[tuple[bool, bool], NearMiss]] = []
    busy = _busy_steps(small)
    holding = (each for each in rule_changes(small) if not _violated(small, each, invariant))
    for change in islice(holding, MOST_TRIED):
        healed = origin is None or invariant not in _violated(origin, change, invariant)
        found = NearMiss(with_rule(small, *change), *change, heals_origin=healed)
        rank = (not healed, not busy <= _busy_steps(found.value))
        tried.append((rank, found))
        if not any(rank):
            break
    return min(tried, key=itemgetter(0))[1] if tried else None


def _violated(
    value: Story | Scenario, change: tuple[str, RuleValue], invariant: str
) -> Sequence[str]:
    """Lists the violated invariants under a change; one that ends in an error heals nothing."""
    try:
        return violated_by(with_rule(value, *change), invariant)
    except Exception:  # noqa: BLE001 - an error is no cure
        return (invariant,)


def _busy_steps(value: Story | Scenario) -> set[int]:
    """The numbers of the steps of a story that have an effect; empty for a scenario."""
    return {step for step, _ in run_story(value).events} if isinstance(value, Story) else set()


LEVEL = 0.05
"""Largest expected proportion of intervals that miss the true share."""

_HALVINGS = 40


class ShareInterval(NamedTuple):
    """The ends of a confidence interval of a share, at confidence 1 - `LEVEL`."""

    low: float
    high: float


def clopper_pearson(events: int, tries: int) -> ShareInterval:
    """The exact interval of a share (Clopper and Pearson 1934), two-sided.

    Needs 0 <= `events` <= `tries`, and `tries` above 0.
    """
    return ShareInterval(_low_end(events, tries), 1.0 - _low_end(tries - events, tries))


def _low_end(events: int, tries: int) -> float:
    """The share at which `events` or more of `tries` have a probability of `LEVEL` / 2."""
    low, high = 0.0, 1.0 if events else 0.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        ways = [comb(tries, n) * share**n * (1 - share) ** (tries - n) for n in range(tries + 1)]
        low, high = (share, high) if sum(ways[events:]) < LEVEL / 2 else (low, share)
    return (low + high) / 2


def seed_of(scenario: Scenario, at_ms: int, number: int) -> int:
    """The seed of one future, by scenario, moment and number; the same on every machine."""
    text = f"{scenario.seed}/future/{at_ms}/{number}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def future_of(scenario: Scenario, at_ms: int, seed: int) -> Scenario:
    """The scenario with another future from `at_ms` (inclusive) on.

    Producers send what they meant to send, at other times. Each fault comes at another time, and to
    a random replica unless its target is a role or a new replica, or it has peers. Latencies and
    timeouts are left to a `Fork`.
    """
    if at_ms >= scenario.duration_ms:
        return scenario
    names = [replica.name for replica in scenario.replicas]
    past = [fault for fault in scenario.faults if fault.at_ms < at_ms]
    later = []
    for index, fault in enumerate(scenario.faults):
        if fault.at_ms >= at_ms:
            draws = Draws(seed, f"faults/{index}")
            moment = at_ms + draws.below(scenario.duration_ms - at_ms)
            target = draws.choice(names)
            keeps = fault.target in ROLES or fault.joins or bool(fault.peers)
            target = fault.target if keeps else target
            later.append(replace(fault, at_ms=moment, target=target))
    faults = (*past, *sorted(later, key=lambda fault: fault.at_ms))
    return replace(scenario, workload=_moved(scenario, at_ms, seed), faults=faults)


def _moved(scenario: Scenario, at_ms: int, seed: int) -> Workload:
    """Moves sends and ends of transactions to other times from a moment on, in the same order.

    A send's timestamp moves with it.
    """
    workload = scenario.workload
    draws = Draws(seed, "sends")
    span = scenario.duration_ms - at_ms
    moments = [*(send.at_ms for send in workload.sends), *(end.at_ms for end in workload.ends)]
    decided = sorted(moment for moment in moments if moment >= at_ms)
    moved: dict[int, int] = {}
    for old, new in zip(decided, sorted(at_ms + draws.below(span) for _ in decided), strict=True):
        moved.setdefault(old, new)
    sends = []
    for send in workload.sends:
        to_ms = moved.get(send.at_ms, send.at_ms)
        stamp = send.timestamp_ms + to_ms - send.at_ms
        sends.append(send._replace(at_ms=to_ms, timestamp_ms=stamp))
    ends = [replace(end, at_ms=moved.get(end.at_ms, end.at_ms)) for end in workload.ends]
    return replace(workload, sends=tuple(sends), ends=tuple(ends))


TRIES = 20
"""Number of futures from each moment, by default."""


class Point(NamedTuple):
    """The share of futures with the violation after a moment.

    Attributes:
        at_ms: Moment up to which (inclusive) the run stays the same; -1 for the start.
        position: Position of the last event then that led to the violation; None at the start.
        sentence: Sentence of that event.
        tries: Number of futures tried.
        violated: Number of futures with the same invariant violated.
        interval: Confidence interval of the share, 95 %.
    """

    at_ms: int
    position: int | None
    sentence: str
    tries: int
    violated: int
    interval: ShareInterval


class NoReturn(NamedTuple):
    """The point of no return of a violation.

    Attributes:
        points: P(violation | prefix) at the moments with all their tries, in order of time.
        first: First moment after which every future tried was violated.
        complete: False if the budget was over before `first` was found: it may be earlier.
    """

    points: tuple[Point, ...]
    first: Point
    complete: bool


def point_of_no_return(
    scenario: Scenario,
    events: Sequence[tuple[int, Event]],
    violation: Violation,
    *,
    tries: int = TRIES,
    within_s: float | None = None,
) -> NoReturn:
    """Finds the event after which a violation of a run is unavoidable.

    Args:
        scenario: The scenario of the run.
        events: (ms, event) of the whole run.
        violation: One of its violations.
        tries: Number of futures from each moment. The same number gives the same answer.
        within_s: Limit in seconds; None without one.

    Raises:
        Inconclusive: A future was cut off before it violated the invariant.
    """
    until = time.monotonic() + (inf if within_s is None else within_s)
    futures = _Futures(scenario, violation.invariant, tries, until)
    last: dict[int, int | None] = {-1: None}
    for position in causal_cone(Case(Past(events), violation), violation):
        last[events[position][0]] = position
    first, complete = _first_sealed(futures, list(last))
    all_violate = [True] * tries
    outcomes = {first: all_violate, max(last): all_violate}
    with suppress(_OutOfTimeError):
        for at_ms in (-1, *sorted(futures.outcomes)):
            outcomes.setdefault(at_ms, futures.tried(at_ms))
    points = {at_ms: _point(events, last[at_ms], outcomes[at_ms]) for at_ms in sorted(outcomes)}
    points[max(last)] = points[max(last)]._replace(interval=ShareInterval(1.0, 1.0))
    return NoReturn(tuple(points.values()), points[first], complete)


def _first_sealed(futures: _Futures, moments: Sequence[int]) -> tuple[int, bool]:
    """The first moment after which every future violates, and False if time was too short."""
    low, high = 0, len(moments) - 1
    try:
        while high - low > 1:
            middle = (low + high) // 2
            sealed = all(futures.tried(moments[middle], until_one_holds=True))
            low, high = (low, middle) if sealed else (middle, high)
        if high == 1 and all(futures.tried(moments[0], until_one_holds=True)):
            high = 0
    except _OutOfTimeError:
        return moments[high], False
    return moments[high], True


def _point(
    events: Sequence[tuple[int, Event]], position: int | None, violates: Sequence[bool]
) -> Point:
    at_ms, sentence = -1, "the start"
    if position is not None:
        at_ms, sentence = events[position][0], describe(events[position][1])
    violated, tries = sum(violates), len(violates)
    interval = clopper_pearson(violated, tries)
    return Point(at_ms, position, sentence, tries, violated, interval)


class _OutOfTimeError(Exception):
    """Raised when the budget is over."""


@dataclass(frozen=True, slots=True)
class _Futures:
    """Runs futures of one scenario.

    Attributes:
        scenario: Scenario of the run.
        invariant: Name of the violated invariant.
        tries: Number of futures from each moment.
        until: End of the budget in s, by `time.monotonic`.
        outcomes: Moment in ms -> for each future tried after it, True if it violates.
    """

    scenario: Scenario
    invariant: str
    tries: int
    until: float
    outcomes: dict[int, list[bool]] = field(default_factory=dict)

    def tried(self, at_ms: int, *, until_one_holds: bool = False) -> list[bool]:
        """The outcomes of the futures after a moment, True for a violation.

        With `until_one_holds`, the first future without the violation is the last one tried.

        Raises:
            Inconclusive: A future was cut off before it violated the invariant.
        """
        known = self.outcomes.setdefault(at_ms, [])
        while len(known) < self.tries and (all(known) or not until_one_holds):
            if time.monotonic() > self.until:
                raise _OutOfTimeError
            seed = seed_of(self.scenario, at_ms + 1, len(known))
            future = future_of(self.scenario, at_ms + 1, seed)
            run = judge_scenario(future, (self.invariant,), fork=Fork(at_ms + 1, seed))
            known.append(bool(run.violations or conclusive(run).violations))
        return known
