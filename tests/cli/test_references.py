"""`replog list mixes`, `ops`, `faults`, `columns`: what they tell is as it is."""

import re

from sim.check.checker import known_invariants
from sim.protocol.rules import RULES
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, MIX_PURPOSES, Weights
from sim.simulate.story.ops import OPS
from sim.study.sweep.columns import SWEPT, VIOLATIONS, columns, runs_schema
from sim.study.sweep.plan import number_runs
from tests.commands import replog
from tests.sweeps.fakes import plan


def test_mixes_are_told_with_their_own_values() -> None:
    rows = {row["field"]: row for row in replog("list", "mixes", "--json").document}

    assert set(MIX_PURPOSES) == set(BUILT_IN_MIXES)
    assert rows["replicas"]["storm"] == "3 to 5"
    assert rows["outage_ms"]["quiet"] == "100 to 6,000"
    assert rows["snapshots"]["kraft"] == "1.0"


def test_steps_are_told_with_every_field_and_faults_with_their_weights() -> None:
    steps = {row["op"]: row for row in replog("list", "ops", "--json").document}
    faults = replog("list", "faults", "--json").document

    assert steps["elect"]["fields"] == "leader epoch [votes]"
    assert all(list(steps[op]["field_meanings"]) == list(OPS[op].fields) for op in OPS)
    assert all(all(op.meanings.values()) for op in OPS.values())
    assert {row["fault"]: row["weight"] for row in faults} == Weights().model_dump()


def test_columns_are_those_of_the_tables() -> None:
    told = {
        table: [one for one in columns() if one.table == table] for table in ("runs", "violations")
    }
    schema = runs_schema(number_runs(plan()))
    assert all(one.means for one in columns())

    named = ["fix" if one.name == SWEPT else one.name for one in told["runs"]]
    assert [*named, VIOLATIONS] == schema.names
    kinds = {one.name: one.kind for one in told["runs"] if one.name != SWEPT}
    assert kinds == {
        name: str(schema.field(name).type) for name in schema.names[:-1] if name != "fix"
    }
    run_id, *own = told["violations"]
    assert (run_id.name, run_id.kind) == ("run_id", "int64")
    assert [(one.name, one.kind) for one in own] == [
        (field.name, str(field.type)) for field in schema.field(VIOLATIONS).type.value_type
    ]


def test_a_rule_or_invariant_that_a_column_is_taken_from_exists() -> None:
    told = "; ".join(one.source for one in columns())

    assert {*re.findall(r"\brule (\w+)", told)} <= {*RULES}
    assert {*re.findall(r"\binvariant ([\w-]+)", told)} <= {*known_invariants()}
