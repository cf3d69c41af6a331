"""Scenarios as files: what is written loads to the same run, and says no default."""

from dataclasses import replace
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.protocol.rules import PRESETS, Rules
from sim.simulate.faults import Crash, Migrate, Partition
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.file.write import as_said, scenario_text
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from sim.simulate.scenario.model import (
    Consumer,
    Expect,
    Limits,
    Link,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    SnapshotSettings,
    Topic,
    TraceSource,
    Workload,
)
from sim.study.sweep.plan import Sweep, load_plan, number_runs

SCENARIOS = Path(__file__).parents[2] / "scenarios"
PLANS = sorted((SCENARIOS / "sweeps").glob("*.yaml"))
CASES = {"far": (4, 13, 16)}
"""In place of the first two of a plan: a follower is removed by its role, segments go beside
snapshots, and a fault aims at a leader that it cannot strike."""


def read(text: str, folder: Path) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(path)


def case_of(sweep: Sweep, case_id: int) -> Scenario:
    """A case under one of the rule sets, which take turns."""
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    rule_set = sweep.rule_sets[case_id % len(sweep.rule_sets)]
    return replace(scenario.with_rules(rule_set.rules), preset=rule_set.preset)


def is_the_same_run(scenario: Scenario, folder: Path) -> bool:
    """Whether it reads as it was written, is written as it reads, and runs the same."""
    text = scenario_text(scenario)
    again = read(text, folder)
    assert again == as_said(scenario)
    assert scenario_text(again) == text
    return again == scenario or run_scenario(again).digest == run_scenario(scenario).digest


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_a_case_of_a_stock_plan_that_was_written_is_the_same_run(
    plan: Path, tmp_path: Path
) -> None:
    sweep = number_runs(load_plan(plan), count=20)
    for case_id in CASES.get(plan.stem, (0, 1)):
        assert is_the_same_run(case_of(sweep, case_id), tmp_path), case_id


@pytest.mark.parametrize("mix", ["storm", "kraft"])
def test_a_case_of_a_mix_without_a_plan_is_the_same_run(mix: str, tmp_path: Path) -> None:
    scenario = generate(0, BUILT_IN_MIXES[mix]).with_rules(Rules.of(delete_retention_ms=1000))

    assert is_the_same_run(scenario, tmp_path)


def test_a_scenario_file_that_was_written_again_says_the_same(tmp_path: Path) -> None:
    paths = sorted(
        path
        for path in SCENARIOS.rglob("*.yaml")
        if "format: replog-scenario/1" in path.read_text(encoding="utf-8")
    )[::24]
    assert len(paths) > 7
    for path in paths:
        scenario = load_scenario(path)
        again = read(scenario_text(scenario, folder=tmp_path), tmp_path)
        assert again == as_said(scenario), path


def test_only_what_differs_from_the_defaults_is_written() -> None:
    assert scenario_text(Scenario("x")) == "format: replog-scenario/1\nid: x\n"


def test_sends_and_faults_have_a_line_each() -> None:
    scenario = Scenario(
        "tail",
        rules=Rules.of(fix="empty_batch", delete_retention_ms=100),
        workload=Workload((Send(5, 1, "k", None, 5), Send(9, 2, "k 2", "no", 7, -3))),
        faults=(Partition(20, "r1", 30, peers=("r2",)),),
        expect=Expect(("no-offset-reuse",)),
    )

    assert scenario_text(scenario).splitlines()[2:] == [
        "rules: {fix: empty_batch, delete_retention_ms: 100}",
        "workload:",
        "  - {at: 5, key: k, value: null}",
        '  - {at: 9, key: k 2, value: "no", version: -3, timestamp: 7, producer: 2}',
        "faults:",
        "  - {at: 20, partition: r1, for_ms: 30, peers: [r2]}",
        "expect: {violated: [no-offset-reuse]}",
    ]


def test_rules_are_written_as_differences_from_their_preset() -> None:
    given = {**PRESETS["kafka-4.0"].values, "fix": "none"}
    scenario = replace(Scenario("x"), rules=Rules().with_values(given), preset="kafka-4.0")

    assert "rules: {preset: kafka-4.0, fix: none}\n" in scenario_text(scenario)


def test_every_part_of_a_scenario_comes_back(tmp_path: Path) -> None:
    scenario = Scenario(
        'q: "x"\n\x7f é',
        title="# no comment",
        rules=Rules.of(
            min_isr=2,
            tombstone_mark="flag",
            tombstone_removal="last_modified",
            delete_retention_ms=1,
        ),
        topic=Topic(segment_ms=None, deletes=True, retention_ms=0, dedupe_buffer_bytes=60),
        replicas=(ReplicaSpec("r1", 0, None), ReplicaSpec("b", -5, 100, "magic")),
        network=Network((2, 9), 1e-7, (Link("r1", "b", (3, 30), 0.5),)),
        workload=Workload((Send(5, 1, "null", "", 5, 1, 0, flag=False),), idempotent=False),
        consumers=(Consumer("c1"), Consumer("c2", 50, 1, "b", ((1, 2), (3, 4)))),
        faults=(
            Crash(7, "leader", 9, high_watermark=0, epochs=3),
            Crash(8, "r1", 1, power_loss=True, during="swap"),
            Migrate(8, "follower", pick=1),
        ),
        snapshots=SnapshotSettings(40, retention_bytes=2**63 - 1),
        last_rounds=2,
        limits=Limits(5),
    )

    assert read(scenario_text(scenario), tmp_path) == scenario


def test_a_file_of_changes_is_found_from_the_folder_of_the_scenario(tmp_path: Path) -> None:
    source = tmp_path / "changes.parquet"
    source.write_text("offset\n")
    scenario = replace(Scenario("x"), workload=Workload(trace=TraceSource(str(source), 7)))
    folder = tmp_path / "deep"
    folder.mkdir()
    text = scenario_text(scenario, folder=folder)

    assert "workload: {trace: ../changes.parquet, batch_records: 7}" in text.replace('"', "")


@pytest.mark.parametrize(
    ("scenario", "named"),
    [
        (
            Scenario("x", faults=(Crash(3, "r1"),)),
            "scenario: faults[0].for_ms: missing",
        ),
        (
            Scenario("x", faults=(Crash(3, "r9", 5),)),
            "scenario: faults[0].crash: there is no replica 'r9'",
        ),
        (Scenario("x", preset="none-such"), "scenario: rules.preset: there is no preset"),
        (Scenario("x", title="\ud800"), "half a character"),
    ],
)
def test_what_no_file_can_say_is_named(scenario: Scenario, named: str) -> None:
    with pytest.raises(BadInput) as caught:
        scenario_text(scenario)

    assert named in str(caught.value)
