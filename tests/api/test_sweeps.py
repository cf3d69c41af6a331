"""Sweeps for notebooks: typed tables, failures that can be narrowed, and their runs again."""

import gc
import shutil
from pathlib import Path

import pandas as pd
import pytest

import sim
from sim.errors import BadInput
from sim.study.sweep.columns import VIOLATION, runs_schema
from sim.study.sweep.folder import read_sweep
from sim.study.sweep.hazards import hazard_of
from tests.api.conftest import PLAN
from tests.commands import STORY, replog


def test_the_table_of_runs_has_the_columns_of_the_rows_and_axes_are_categories(
    swept: sim.Sweep,
) -> None:
    runs = swept.runs()

    assert list(runs.columns) == runs_schema(read_sweep(swept.folder)).names[:-1]
    assert len(runs) == 12
    assert list(runs.fix.cat.categories) == ["none", "leo_retention", "empty_batch"]
    assert list(runs.environment.cat.categories) == ["plain", "hunted"]
    for name in ("rule_set", "verdict"):
        assert isinstance(runs[name].dtype, pd.CategoricalDtype)
    assert str(runs.first_violation_ms.dtype) == "Int64"
    assert str(runs.events.dtype) == "int64"
    assert list(swept.runs(columns=["run_id"])) == ["run_id"]
    assert list(swept.runs(columns=iter(["fix", "run_id"]))) == ["run_id", "fix"]


def test_the_verdict_is_a_table_whose_rates_are_those_of_the_violations(swept: sim.Sweep) -> None:
    verdict = swept.verdict()

    runs = verdict[verdict.kind == "runs"]
    found = swept.violations().astype({"invariant": str, "family": str})
    hazards = [hazard_of(*one) for one in zip(found.invariant, found.family, strict=True)]
    met = found.assign(hazard=hazards).drop_duplicates(["run_id", "hazard"])
    counted = met.groupby(["hazard", "fix", "environment"], observed=True).size().to_dict()
    told = {
        (row.hazard, row.alternative, row.unit): row.runs for row in runs.itertuples() if row.runs
    }
    assert told == counted
    assert set(runs.judged) == {2}
    assert (runs[runs.runs > 0].evidence.str.startswith("replog run ")).all()
    assert len(verdict.attrs["sentences"]) >= 1
    with pytest.raises(BadInput, match="no such decision"):
        swept.verdict("mine")


def test_the_table_of_violations_has_the_axes_of_the_run_beside_it(swept: sim.Sweep) -> None:
    found = swept.violations()

    own = [one.name for one in VIOLATION]
    assert list(found) == ["run_id", *own, "case_id", "environment", "rule_set", "fix"]
    assert (found.since_ms <= found.at_ms).all()
    assert found.sentence.str.len().min() > 0
    assert isinstance(found.family.dtype, pd.CategoricalDtype)
    assert found.groupby("fix", observed=True).run_id.nunique().sum() == len(swept.failures())


def test_failures_come_with_the_fewest_events_first(swept: sim.Sweep) -> None:
    failures = swept.failures()

    assert len(failures) == (swept.runs().verdict == "violated").sum() > 0
    assert failures.table.events.is_monotonic_increasing
    assert failures.first().row == failures[0].row
    assert [run.row for run in failures[:2]] == [failures[0].row, failures[1].row]
    assert failures[-1].row is not None
    with pytest.raises(IndexError):
        _ = failures[len(failures)]


def test_failures_are_narrowed_by_what_they_violate_and_by_any_column(swept: sim.Sweep) -> None:
    failures = swept.failures()
    narrowed = failures.where(invariant="no-offset-reuse", fix="none")

    assert 0 < len(narrowed) < len(failures)
    assert all("no-offset-reuse" in run.violated for run in narrowed)
    assert len(failures.where(invariant="no-offset-reuse", fix="empty_batch")) == 0
    assert len(failures.where(fix=["none", "empty_batch"])) < len(failures)
    assert len(failures.where(rule_set="none", environment="hunted", family="readers")) == 1


COMPLAINTS = {
    "a column": ({"fx": "none"}, r"no such column \(did you mean 'fix'\?\)"),
    "a value": ({"fix": "nonne"}, r"nonne: not in this sweep \(did you mean 'none'\?\)"),
    "an invariant": ({"invariant": "no-offset-reus"}, "did you mean 'no-offset-reuse'"),
}


@pytest.mark.parametrize(("wanted", "complaint"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_a_misspelt_wish_is_not_an_empty_answer(
    swept: sim.Sweep, wanted: dict[str, str], complaint: str
) -> None:
    with pytest.raises(sim.BadInput, match=complaint):
        swept.failures().where(**wanted)


def test_the_first_of_no_failures_is_bad_input(swept: sim.Sweep) -> None:
    none = swept.failures().where(invariant="no-offset-reuse", fix="empty_batch")

    with pytest.raises(sim.BadInput, match="there are none"):
        none.first()
    assert none._repr_html_() == "<p>no failures</p>"


def test_a_failure_is_run_again_as_its_row_says(swept: sim.Sweep, reused: sim.Run) -> None:
    assert reused.row is not None
    row = swept.runs().set_index("run_id").loc[reused.row.run_id]

    unasked = sim.Run(reused.scenario, row=reused.row)
    assert "gave offset" in repr(unasked)
    assert "recorded" not in vars(unasked)  # not simulated before something is asked for
    assert reused.digest == row.digest
    assert reused.verdict == "violated"
    assert len(reused.recorded.proper) == reused.counters["events"] == row.events
    assert reused.command == f"replog run {swept.folder} {reused.row.run_id}"


def test_questions_about_a_narrowed_failure_are_about_what_it_was_narrowed_to(
    reused: sim.Run,
) -> None:
    assert reused.violated[0] != "no-offset-reuse"
    assert reused.explain().about == "no-offset-reuse"
    assert reused.compare("empty_batch").table.verdict.tolist() == ["violated", "holds"]


def test_a_row_that_another_version_made_is_not_explained(reused: sim.Run) -> None:
    assert reused.row is not None
    stale = sim.Run(reused.scenario, row=reused.row._replace(digest="0" * 32))

    with pytest.raises(sim.BadInput, match=r"\(the digests differ\): sweep again"):
        stale.explain()


def test_a_sweep_is_opened_by_its_folder(swept: sim.Sweep) -> None:
    again = sim.open_sweep(str(swept.folder))

    assert repr(again) == repr(swept)
    assert again.runs().equals(swept.runs())
    assert again.rule_sets == {name: {"fix": name} for name in again.runs().fix.cat.categories}
    assert again.run(0).row is not None
    with pytest.raises(sim.BadInput, match="no such run; this sweep has runs 0 to 11"):
        again.run(12)


def test_a_sweep_in_html_counts_verdicts_by_rule_set(swept: sim.Sweep) -> None:
    html = swept._repr_html_()

    violated = (swept.runs()[swept.runs().fix == "none"].verdict == "violated").sum()
    assert f'>none</td><td style="text-align:left;vertical-align:top">{4 - violated}</td>' in html
    assert ">error<" not in html
    assert "run_id" in swept.failures()._repr_html_()


def test_a_sweep_of_which_nothing_is_finished_shows_itself_too(
    swept: sim.Sweep, tmp_path: Path
) -> None:
    shutil.copy(swept.folder / "plan.json", tmp_path)

    html = sim.open_sweep(tmp_path)._repr_html_()

    assert html.count('">0</td>') == 9


def test_what_is_no_plan_or_no_sweep_is_told_in_one_line(tmp_path: Path) -> None:
    bad = {
        "format: replog-sweep/1\ncount: x\n": "the plan:1: title: missing",
        str(tmp_path / "none.yaml"): f"{tmp_path / 'none.yaml'}: cannot be read",
    }
    for plan, complaint in bad.items():
        with pytest.raises(sim.BadInput) as raised:
            sim.sweep(plan)
        assert str(raised.value).splitlines()[0].startswith(complaint)
    with pytest.raises(sim.BadInput, match=r"no plan\.json there"):
        sim.open_sweep(tmp_path)
    with pytest.raises(sim.BadInput, match="resume: needs the folder"):
        sim.sweep(PLAN, resume=True)


def test_a_failure_of_a_sweep_is_saved_and_run_again_without_the_sweep(
    swept: sim.Sweep, reused: sim.Run, tmp_path: Path
) -> None:
    folder = reused.save(tmp_path)

    assert reused.row is not None
    assert folder.name == f"run-{reused.row.run_id}-no-offset-reuse"
    assert sim.run(folder / "scenario.yaml").digest == reused.digest
    assert f"replog run {swept.folder} {reused.row.run_id}" in (folder / "README.md").read_text()


def test_a_row_run_again_writes_the_folder_of_a_run_that_violates(
    swept: sim.Sweep,
    reused: sim.Run,
    tmp_path: Path,
) -> None:
    assert reused.row is not None
    holding = int(swept.runs()[swept.runs().verdict == "holds"].run_id.iloc[0])
    for run_id, folders in ((holding, 0), (reused.row.run_id, 1)):
        ended = replog("run", swept.folder, run_id, "--failures", tmp_path / "them")
        assert (ended.status, ended.out.count("failure: ")) == (0, folders)
        assert (tmp_path / "them").exists() == bool(folders)


def test_why_a_failure_happened_is_the_same_for_all_its_violations(reused: sim.Run) -> None:
    causes = reused.causes()

    assert reused.cause == "log divergence: log end fell by cleaning"
    assert reused.cause in causes.cause.tolist()
    assert causes.violations.sum() == len(reused.violations)


def test_causes_count_every_failure_once_and_name_a_run_and_a_story(
    swept: sim.Sweep, tmp_path: Path
) -> None:
    shutil.copy(STORY, tmp_path)
    causes, failures = swept.causes(tmp_path), swept.failures()

    assert causes.runs.sum() == len(failures)
    assert causes[["none", "leo_retention", "empty_batch"]].sum(axis=1).equals(causes.runs)
    assert str(causes.runs.dtype) == "Int64"
    for row in causes.itertuples():
        found = failures.where(cause=row.cause)
        assert row.example in found.table.run_id.tolist()
        assert row.invariant in set(found.table.first_invariant)
    lost_end = causes.cause == "log divergence: log end fell by cleaning"
    assert causes[lost_end].story.tolist() == [STORY.name]
    assert causes[~lost_end].story.isna().all()
    assert failures.one_per_cause().table.cause.tolist() == failures.table.cause.unique().tolist()


def test_a_sweep_without_a_folder_is_gone_with_its_object(swept: sim.Sweep, tmp_path: Path) -> None:
    folder = shutil.copytree(swept.folder, tmp_path / "temporary")
    temporary = sim.Sweep(folder, temporary=True)

    assert temporary.run(0).command is None
    del temporary
    gc.collect()
    assert not folder.exists()


def test_without_pandas_a_table_is_one_clear_line(
    swept: sim.Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.files.shipped.find_spec", lambda _: None)

    for ask in (lambda: sim.run(7).events, lambda: sim.open_sweep(swept.folder).failures()):
        with pytest.raises(sim.BadInput, match=r"^tables need pandas: pip install "):
            ask()
