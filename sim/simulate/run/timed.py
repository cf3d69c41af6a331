"""The run of a timed scenario: simulated, judged and counted.

The same scenario gives the same value on any machine. Nothing here imports Spark, pandas or
matplotlib.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from sim.bounds import bounded
from sim.check import Checker
from sim.check.checker import OUTSIDE, safety_invariants
from sim.check.counters import COUNTERS, RunCounters
from sim.check.coverage import SITUATIONS, Coverage
from sim.check.facts import Asked
from sim.check.violation import judged, not_as_expected
from sim.plugins import observing
from sim.protocol.events import Event
from sim.simulate.cluster.context import SimulationResult, Spent
from sim.simulate.cluster.simulation import Fork, simulate
from sim.simulate.run.value import CHUNK, DIGEST_BYTES, Run, Settling, encoded, verdict_of
from sim.simulate.scenario.derived import environment_digest, exposure_of, promise_of, setting_notes
from sim.simulate.scenario.model import Scenario

LEFT_THE_CONTRACT = f"{OUTSIDE}: {SITUATIONS[OUTSIDE]}"
"""The reason of every run that left the durability contract; reports count runs by reasons."""
_COLLECT_AFTER: Final = 100_000
"""Number of new objects that start Python's search for cycles while a run lasts.

With Python's own 700 it searches the logs, which have no cycles, again and again: a fifth of the
time of a run.
"""


@contextmanager
def _collecting_less() -> Iterator[None]:
    """Lets Python search for cycles after `_COLLECT_AFTER` new objects only."""
    before, *older = gc.get_threshold()
    gc.set_threshold(max(before, _COLLECT_AFTER) if before else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(before, *older)


@_collecting_less()
def run_scenario(
    scenario: Scenario,
    *,
    keep_events: bool = False,
    also_check: Iterable[str] = (),
    counts_settling: bool = True,
) -> Run:
    """Simulates, judges and counts a scenario.

    Args:
        scenario: What to simulate.
        keep_events: Whether the run keeps everything that happened.
        also_check: Invariants beyond the safety ones, such as liveness ones or findings.
        counts_settling: Whether the run has the increases of counters by settling; the rows of a
            sweep have none.
    """
    also, expect = tuple(also_check), scenario.expect
    recorder = _CountingRecorder(scenario, [*judging(scenario), *also], keep_events=keep_events)
    run, outcome = _simulated(scenario, recorder)
    found = judged(
        run.violations,
        expected=(*expect.violated, *also),
        checked=expect.checked,
        by_default=(*safety_invariants(), *recorder.reported),
    )
    counters, reached, settling = recorder.counted(outcome, counts_settling=counts_settling)
    run = replace(
        run,
        verdict=verdict_of(found.violations, run.reason),
        violations=found.violations,
        not_judged=found.not_judged,
        known_digest=recorder.digest(),
        remarks=tuple(setting_notes(scenario)),
        settled=run.outside is not None and OUTSIDE in expect.reached,
        counters=counters,
        reached=reached,
        settling=settling,
        environment=environment_digest(scenario),
    )
    return replace(run, differences=differences(scenario, run))


def judging(scenario: Scenario) -> list[str]:
    """Invariants that judge a scenario: those of safety, and those that it names."""
    expect = scenario.expect
    return [*safety_invariants(), *(expect.checked or expect.violated)]


@_collecting_less()
def judge_scenario(
    scenario: Scenario,
    invariants: Iterable[str],
    *,
    keep_events: bool = False,
    fork: Fork | None = None,
) -> Run:
    """Simulates a scenario and judges it by the given invariants alone.

    The run has no counters, situations, settling, notes or differences from the expectation.

    Args:
        scenario: What to simulate.
        invariants: All that are judged.
        keep_events: Whether the run keeps everything that happened.
        fork: Time from which on another seed is used; None: never.
    """
    recorder = _Recorder(scenario, invariants, keep_events=keep_events)
    return _simulated(scenario, recorder, fork)[0]


def _simulated(
    scenario: Scenario, recorder: _Recorder, fork: Fork | None = None
) -> tuple[Run, SimulationResult | None]:
    """The run whose events a recorder takes, and how the simulation ended; None: it was cut off."""
    outcome = None
    with bounded() as watch:
        outcome = simulate(
            scenario,
            recorder.take,
            fork=fork,
            settles=recorder.settles,
            observe=observing(recorder.report),
        )
    reason, outside = watch.reached, None
    if outcome is not None:  # what was cut off is not judged by the durability contract
        outside = recorder.checker.contract.outside
        reason = outcome.inconclusive if outside is None else LEFT_THE_CONTRACT
    violations = tuple(recorder.checker.violations)
    run = Run(
        content=scenario,
        rules=recorder.rules,
        verdict=verdict_of(violations, reason),
        reason=reason,
        violations=violations,
        events=recorder.kept,
        cut_off=outcome is None,
        outside=outside,
    )
    return run, outcome


def differences(scenario: Scenario, run: Run) -> tuple[str, ...]:
    """Differences of a run from the expectation of its scenario; empty when it is met.

    A run that a bound cut off, after a violation or before any, could have shown the rest later, so
    that is no difference. A run that left the durability contract is compared as any other, by its
    events before that.
    """
    expect = scenario.expect
    ended = run.reason is None or run.outside is not None
    out = not_as_expected(run.violated, expect.violated, ended=ended)
    out += [f"{name} was reached, not expected" for name in run.reached if name in expect.unreached]
    if ended:
        out += [f"{name} was not reached" for name in expect.reached if name not in run.reached]
    return tuple(out)


def _asked(scenario: Scenario) -> dict[str, Asked]:
    """The transaction of each value that is sent in one, by value.

    Empty where values repeat or may be refused, or where no transaction ends.
    """
    workload = scenario.workload
    changed = any(one.versions is not None for one in scenario.replicas)
    if not workload.ends or changed:
        return {}
    commits = {(end.producer, end.transaction) for end in workload.ends if end.commit}
    sends = [one for one in workload.sends if one.transaction and one.value is not None]
    found = {
        str(one.value): (one.producer, one.transaction, (one.producer, one.transaction) in commits)
        for one in sends
    }
    return found if len(found) == len(sends) and workload.acks == "all" else {}


class _Recorder:
    """Takes the events of a run, hands them to the checks, and keeps them if asked to.

    Attributes:
        rules: Rules that the run is judged by.
        checker: Judge of the run.
        events: Number of events that were handed to the checks.
        kept: All these events as (time in ms, event), if they are kept.
        reported: Names of invariants that an observer found violated.
    """

    def __init__(self, scenario: Scenario, invariants: Iterable[str], *, keep_events: bool) -> None:
        self.rules, earlier = promise_of(scenario)
        self.checker = Checker(
            self.rules,
            invariants,
            zombies_count=False,
            earlier=earlier,
            within_contract=True,
            unit="ms",
            asked=_asked(scenario),
        )
        self.events = 0
        self.kept: list[tuple[int, Event]] = []
        self._keep_events = keep_events
        self.reported: set[str] = set()

    def take(self, at_ms: int, events: Iterable[Event]) -> None:
        """Takes events of one time, hands them to the checks last: a bound may stop them there."""
        taken = [(at_ms, event) for event in events]
        self.events += len(taken)
        self._keep(taken)
        self.checker.on_all(taken)

    def settles(self, spent: Spent) -> None:
        """Notes that the run is over; later events only bring it to rest."""

    def report(
        self,
        invariant: str,
        sentence: str,
        replica: str | None = None,
        offset: int | None = None,
    ) -> None:
        """Takes a violation that an observer found."""
        self.reported.add(invariant)
        self.checker.report(invariant, replica, offset, None, sentence)

    def _keep(self, taken: list[tuple[int, Event]]) -> None:
        if self._keep_events:
            self.kept += taken


class _CountingRecorder(_Recorder):
    """A recorder that also counts, notes situations, and computes the digest."""

    def __init__(self, scenario: Scenario, invariants: Iterable[str], *, keep_events: bool) -> None:
        super().__init__(scenario, invariants, keep_events=keep_events)
        self._counters = RunCounters(self.checker, faults_end_ms=scenario.duration_ms)
        self._coverage = Coverage(self.checker, self._counters)
        self._exposure = exposure_of(scenario)
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._chunk: list[tuple[int, Event]] = []
        self._proper: tuple[Spent, dict[str, int], tuple[str, ...]] | None = None

    def settles(self, spent: Spent) -> None:
        self._proper = spent, self._values(spent), self._coverage.names

    def _keep(self, taken: list[tuple[int, Event]]) -> None:
        self._chunk += taken
        while len(self._chunk) >= CHUNK:
            self._hash.update(encoded(self._chunk[:CHUNK]))
            del self._chunk[:CHUNK]
        super()._keep(taken)

    def counted(
        self, outcome: SimulationResult | None, *, counts_settling: bool
    ) -> tuple[dict[str, int], tuple[str, ...], Settling | None]:
        """Counters and situations of the run, and the changes by settling; call it at the end.

        A run that was cut off has no counter above 0 but `events`. The changes are None for it, and
        for a run that ended before it settled.
        """
        if outcome is None:
            none = {**dict.fromkeys(COUNTERS, 0), "events": self.events}
            return none, self._coverage.names, None
        seen = self._coverage.names
        if self._proper is None:
            return self._values(outcome.spent), seen, None
        spent, counters, reached = self._proper
        at_rest = self._values(outcome.spent) if counts_settling else counters
        more = {name: at_rest[name] - count for name, count in counters.items()}
        more = {name: count for name, count in more.items() if count}
        only = tuple([name for name in seen if name not in reached])
        return counters, reached, Settling(spent.at_ms, counters["events"], more, only)

    def _values(self, spent: Spent) -> dict[str, int]:
        return self._counters.values(
            {
                "events": self.events,
                "simulator_events": spent.simulator_events,
                "messages": spent.messages_sent,
                "messages_lost": spent.messages_lost,
                **self._exposure,
                **self.checker.counters(),
            },
        )

    def digest(self) -> str:
        """The digest of all events; its last chunk is never full, and may be empty."""
        self._hash.update(encoded(self._chunk))
        return self._hash.hexdigest()
