"""Every case of a stock plan can be written as a file, which reads as the same run."""

from dataclasses import replace
from pathlib import Path

import pytest

from sim.files.yaml_text import parse_yaml
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import scenario_in
from sim.simulate.scenario.file.write import as_said, scenario_text
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.plan import Sweep, load_plan, number_runs

PLANS = sorted(Path(__file__).parents[2].joinpath("scenarios/sweeps").glob("*.yaml"))
ALSO = {"far": (4, 13, 16)}
"""Cases in which a follower is removed by its role, segments go beside snapshots, and a fault aims
at a leader that it cannot strike."""


def case_of(sweep: Sweep, case_id: int) -> Scenario:
    """A case under one of the rule sets, which take turns."""
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    rule_set = sweep.rule_sets[case_id % len(sweep.rule_sets)]
    return replace(scenario.with_rules(rule_set.rules), preset=rule_set.preset)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_a_generated_scenario_is_read_as_it_was_written_and_runs_the_same(plan: Path) -> None:
    sweep = number_runs(load_plan(plan), count=20)
    for case_id in {*range(3), *ALSO.get(plan.stem, ())}:
        scenario = case_of(sweep, case_id)

        text = scenario_text(scenario)

        read = scenario_in(parse_yaml(text, "case.yaml"), path=Path("case.yaml"))
        assert read == as_said(scenario), case_id
        assert scenario_text(read) == text
        assert run_scenario(read).digest == run_scenario(scenario).digest, case_id
