"""Random scenarios: valid, varied, cheap in what they assume, the same everywhere."""

from collections import Counter
from dataclasses import asdict, fields, replace
from itertools import pairwise
from typing import get_type_hints

import pytest
from pydantic import TypeAdapter, ValidationError

from sim.protocol.rules import Rules, rules_from
from sim.simulate.faults import FAULTS, FaultKind
from sim.simulate.faults.fault import meaning_of
from sim.simulate.scenario.derived import environment_digest
from sim.simulate.scenario.file.format import own_fields
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.simulate.scenario.generate.streams import Draws, stream, words
from sim.simulate.scenario.model import Scenario, SentHeader, TraceSource, Workload

REFERENCE = BUILT_IN_MIXES["reference"]


@pytest.fixture(scope="module")
def cases() -> list[Scenario]:
    return [generate(seed, REFERENCE) for seed in range(400)]


def losing_tail(scenario: Scenario) -> bool:
    """Whether the last send before some pause of a second has an older version than its key."""
    sends = scenario.workload.sends
    newest: dict[str, int] = {}
    for send, following in pairwise(sends):
        version = -1 if send.version is None else send.version
        if following.at_ms - send.at_ms > 1000 and version < newest.get(send.key, -1):
            return True
        newest[send.key] = max(newest.get(send.key, -1), version)
    return False


@pytest.mark.parametrize("mix", BUILT_IN_MIXES.values(), ids=list(BUILT_IN_MIXES))
def test_every_seed_gives_a_valid_scenario(mix: Mix) -> None:
    """Valid: what the model's annotations demand, and names and times that exist."""
    hints = get_type_hints(Scenario, include_extras=True)
    names = {field.name for field in fields(Scenario)} - {"rules", "faults"}
    adapters = {name: TypeAdapter(hints[name]) for name in sorted(names)}
    kinds = {kind: TypeAdapter(kind) for kind in FAULTS.values()}
    for seed in range(100):
        scenario = generate(seed, mix)
        for name, adapter in adapters.items():
            adapter.validate_python(adapter.dump_python(getattr(scenario, name)))
        for fault in scenario.faults:
            assert kinds[type(fault)].validate_python(asdict(fault)) == fault
        targets = {"leader", "follower", *[replica.name for replica in scenario.replicas]}
        for fault in scenario.faults:
            assert 0 <= fault.at_ms < scenario.duration_ms
            if fault.kind == FaultKind.ADD_REPLICA:
                assert fault.target not in targets
                targets.add(fault.target)
            assert fault.target in targets  # a newcomer after it joined
        for send in scenario.workload.sends:
            assert 0 <= send.at_ms < scenario.duration_ms
            assert send.timestamp_ms >= 0
        times = [send.at_ms for send in scenario.workload.sends]
        assert times == sorted(times)
        assert mix.sends[0] <= len(times) <= mix.sends[1]


def test_every_kind_of_fault_of_a_mix_occurs_and_no_other(cases: list[Scenario]) -> None:
    storm = BUILT_IN_MIXES["storm"]
    for mix, drawn in ((REFERENCE, cases), (storm, [generate(seed, storm) for seed in range(400)])):
        seen = {fault.kind for case in drawn for fault in case.faults}
        assert seen == {FaultKind(kind) for kind, weight in mix.weights if weight > 0}


def test_whole_kinds_of_faults_are_off_in_many_cases(cases: list[Scenario]) -> None:
    having = Counter(kind for case in cases for kind in {fault.kind for fault in case.faults})

    assert max(having.values()) < 280
    assert any(not case.faults for case in cases)


def test_the_hazards_of_the_field_are_reachable(cases: list[Scenario]) -> None:
    """Each of these is the first half of a known loss; none may be generated away."""
    retention_ms = 1000
    outages = [f for case in cases for f in case.faults if f.kind == FaultKind.CRASH]

    assert sum(losing_tail(case) for case in cases) > 20
    assert sum(any(s.value is None for s in case.workload.sends) for case in cases) > 200
    assert sum(outage.duration_ms > 2 * retention_ms for outage in outages) > 20
    assert sum(bool(case.workload.ends) for case in cases) > 40
    assert sum(not end.commit for case in cases for end in case.workload.ends) > 40
    assert sum(any(r.clock_skew_ms for r in case.replicas) for case in cases) > 80
    assert sum(bool(c.pauses) for case in cases for c in case.consumers) > 200


def test_a_hunt_for_a_tail_goes_around_an_idle_phase_in_order() -> None:
    hunting = BUILT_IN_MIXES["reference"].model_copy(
        update={"tail_hunts": 1.0, "kind_off": 1.0, "idle_phases": (1, 1)}
    )
    hunts = [case for case in (generate(seed, hunting) for seed in range(100)) if case.faults]

    assert len(hunts) > 50
    for case in hunts:
        outage, *rest = case.faults
        times = [0, *(send.at_ms for send in case.workload.sends), case.duration_ms]
        pauses = [(a, b) for a, b in pairwise(times) if b - a > 700]
        back_ms = outage.at_ms + outage.duration_ms
        assert any(outage.at_ms < end and start < back_ms for start, end in pauses)
        migrations = [fault for fault in rest if fault.kind == FaultKind.MIGRATE]
        assert all(fault.kind in (FaultKind.ROLL, FaultKind.MIGRATE) for fault in rest)
        assert all(fault.target == outage.target and fault.at_ms > back_ms for fault in migrations)


def test_without_hunts_and_kinds_nothing_breaks() -> None:
    calm = BUILT_IN_MIXES["reference"].model_copy(update={"tail_hunts": 0.0, "kind_off": 1.0})

    assert not any(generate(seed, calm).faults for seed in range(100))


def test_transactions_end_after_their_sends_and_before_the_next_ones(
    cases: list[Scenario],
) -> None:
    for case in cases:
        ends = {(end.producer, end.transaction): end.at_ms for end in case.workload.ends}
        assert len(ends) == len(case.workload.ends)
        for send in case.workload.sends:
            if send.transaction:
                this = (send.producer, send.transaction)
                before = (send.producer, send.transaction - 1)
                assert send.at_ms <= ends.get(this, send.at_ms)
                assert send.transaction == 1 or ends[before] < send.at_ms


def test_the_environment_does_not_depend_on_the_rules() -> None:
    scenario = generate(7, REFERENCE)
    other = scenario.with_rules(rules_from({"preset": "kip-280", "fix": "empty_batch"}))

    assert scenario.rules == Rules()
    assert other.rules != scenario.rules
    assert environment_digest(other) == environment_digest(scenario)
    assert environment_digest(generate(8, REFERENCE)) != environment_digest(scenario)


def test_the_environment_of_a_trace_does_not_depend_on_its_folder() -> None:
    here = Scenario("x", workload=Workload(trace=TraceSource("here/t.parquet")))
    there = Scenario("y", workload=Workload(trace=TraceSource("there/t.parquet")))
    other = Scenario("y", workload=Workload(trace=TraceSource("there/u.parquet")))

    assert environment_digest(here) == environment_digest(there) != environment_digest(other)


def test_a_mix_is_a_name_or_changes_to_a_built_in_one() -> None:
    storm = BUILT_IN_MIXES["storm"]

    assert Mix.model_validate("storm") == storm
    changed = Mix.model_validate_json('{"mix": "storm", "sends": [1, 2], "weights": {"roll": 9}}')
    assert changed.sends == (1, 2)
    assert changed.replicas == storm.replicas
    assert changed.weights == storm.weights.model_copy(update={"roll": 9})
    assert Mix.model_validate_json('{"keys": [1, 1]}') == REFERENCE.model_copy(
        update={"keys": (1, 1)}
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ('"sotrm"', r"mix \"sotrm\" \(did you mean 'storm'\?\); allowed: reference, quiet,"),
        ('{"mix": {"a": 0}}', "should be a valid string"),
        ('{"mix": [0]}', "should be a valid string"),
        ('{"sends": [5, 1]}', r"sends\s+the first number is above the second"),
        ('{"sends": [1]}', "Field required"),
        ('{"sneds": [1, 2]}', "Extra inputs are not permitted"),
        ('{"weights": {"crash": -1}}', "greater than or equal to 0"),
        ('{"outage_ms": [0, 5]}', "starts at 1 or above"),
        ("3", "should be"),
    ],
)
def test_a_mix_that_cannot_be_drawn_from_is_refused(given: str, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Mix.model_validate_json(given)


def test_every_kind_of_fault_says_what_it_is() -> None:
    kinds = list(FAULTS.values())

    assert all(meaning_of(kind) and kind.source for kind in kinds)
    assert all(one.description for kind in kinds for _, one in own_fields(kind).values())


def test_draws_stay_within_their_limits() -> None:
    draws, rng = Draws(5, "test"), stream(5, "test")

    assert {draws.between((3, 5)) for _ in range(200)} == {3, 4, 5}
    assert {draws.log_between((1, 4)) for _ in range(500)} == {1, 2, 3, 4}
    assert draws.log_between((7, 7)) == 7
    assert all(0 <= word < 2**32 for word in words(rng, 100))


def test_producers_that_make_mistakes_with_version_headers_make_each_kind_of_them() -> None:
    plain, wrong = Mix(), Mix.model_validate({"header_mistakes": 1.0})
    kinds: Counter[str] = Counter()
    for seed in range(30):
        before, after = generate(seed, plain), generate(seed, wrong)
        sends = tuple(send._replace(headers=()) for send in after.workload.sends)
        assert before == replace(after, workload=replace(after.workload, sends=sends))
        for version, headers in [(one.version, one.headers) for one in after.workload.sends]:
            if not headers:
                continue
            assert version is not None
            assert headers != (SentHeader(version),) or version == 0
            kinds["twice"] += sum(header.version is not None for header in headers) == 2
            kinds["capitals"] += any(header.capitals for header in headers)
            kinds["no number"] += any(header.version is None for header in headers)
            kinds["not above 0"] += len(headers) == 1 and (headers[0].version or 1) <= 0

    assert min(kinds.values()) > 100
    assert len(kinds) == 4
