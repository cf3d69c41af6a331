"""Pictures of a run and its witness, for notebooks."""

from pathlib import Path

import pytest

import sim
from tests.commands import ROOT, STORY


@pytest.fixture(scope="module")
def run() -> sim.Run:
    """A story in which a committed offset is given twice."""
    return sim.run(STORY)


@pytest.fixture(scope="module")
def shrunk(run: sim.Run) -> "sim.Shrunk[sim.Run]":
    """Its witness."""
    return run.shrink("no-offset-reuse", within_s=None)


def test_a_timeline_shows_itself_as_markup_without_a_script_and_as_text(run: sim.Run) -> None:
    timeline = run.timeline("no-offset-reuse")

    html = timeline._repr_html_()
    assert "<svg" in html
    assert "<script" not in html
    assert "no-offset-reuse" in html
    assert "no-offset-reuse" in str(timeline)
    assert "gave offset 3" in repr(timeline)
    assert "\n" not in repr(timeline)


def test_the_text_of_a_timed_run_ends_before_it_settled_whatever_moments_a_picture_shows() -> None:
    run = sim.run(ROOT / "scenarios/kip280/timed_low_rate.yaml")
    last = run.recorded.events[-1][0]
    assert run.recorded.proper[-1][0] < last

    timeline = run.timeline().at(end=last)

    assert str(timeline) == str(run.timeline())
    assert "end" in timeline.svg


def test_the_title_of_a_changed_scenario_says_what_was_changed(run: sim.Run) -> None:
    changed = run.compare("empty_batch")["empty_batch"]

    assert "no fix" in run.scenario.headline
    assert changed.scenario.headline == f"{STORY.stem} with fix=empty_batch"
    assert "with fix=empty_batch" in changed.timeline()._repr_html_()


def test_a_timeline_is_saved_by_the_ending_of_its_file(run: sim.Run, tmp_path: Path) -> None:
    timeline = run.timeline(against="empty_batch")
    page = timeline.save(tmp_path / "page.html").read_text()

    assert "fix=none" in page
    assert "fix=empty_batch" in page
    assert "</svg>" in timeline.save(tmp_path / "a.svg").read_text()
    assert "high watermark" in timeline.save(tmp_path / "a.txt").read_text()
    with pytest.raises(sim.BadInput, match=r"a\.pdf: a picture has one of these endings: \.html"):
        timeline.save(tmp_path / "a.pdf")


def test_a_run_that_holds_shows_its_end_and_has_nothing_to_shrink() -> None:
    holding = sim.run(STORY, fix="empty_batch")
    timeline = holding.timeline()

    assert "nothing violated" in repr(timeline)
    assert "<svg" in timeline._repr_html_()
    with pytest.raises(sim.BadInput, match="no-offset-reuse: is not violated here; verdict: holds"):
        holding.timeline("no-offset-reuse")
    with pytest.raises(sim.BadInput, match="nothing is violated here"):
        holding.shrink()


def test_a_witness_violates_the_same_for_the_same_cause_in_fewer_steps(
    run: sim.Run, shrunk: "sim.Shrunk[sim.Run]"
) -> None:
    about = sim.Run(run.scenario, about="no-offset-reuse")

    assert shrunk.complete
    assert shrunk.steps is not None
    assert shrunk.steps <= 9
    assert shrunk.events < shrunk.events_before == len(run.events)
    assert "no-offset-reuse" in shrunk.run.violated
    assert shrunk.run.cause == about.cause
    assert shrunk.run.as_expected


def test_the_near_miss_of_a_witness_holds(shrunk: "sim.Shrunk[sim.Run]") -> None:
    assert shrunk.near_miss is not None
    assert shrunk.change == "fix: leo_retention"
    assert sim.run(shrunk.near_miss).verdict == "holds"


def test_a_witness_shows_itself_and_is_saved(shrunk: "sim.Shrunk[sim.Run]", tmp_path: Path) -> None:
    assert "\n" not in repr(shrunk)
    assert repr(shrunk).endswith("; near miss: fix: leo_retention)")
    assert repr(shrunk.near_miss) == repr(shrunk.scenario).replace(",", "_near_miss,", 1)
    html = shrunk._repr_html_()
    assert "fix: leo_retention" in html
    assert "<svg" in html
    path = shrunk.save(tmp_path / "witness.yaml")
    assert path.read_text() == str(shrunk)
    assert sim.run(path).digest == shrunk.run.digest


def test_what_is_cut_short_says_so(run: sim.Run) -> None:
    shrunk = run.shrink("no-offset-reuse", within_s=0)

    assert not shrunk.complete
    assert "; the time was over" in repr(shrunk)
    assert "no-offset-reuse" in shrunk.run.violated


def test_the_page_of_a_file_that_is_not_as_it_expects_says_so_in_red(tmp_path: Path) -> None:
    path = tmp_path / "red.yaml"
    path.write_text(
        "format: replog-story/1\nreplicas: [r1, r2]\nsteps: [elect r1 1]\nexpect: {leader: r2}\n"
    )

    assert "<li>leader is r1, expected r2</li>" in sim.run(path).timeline().page
    assert "Expectation not met" not in sim.run(path, fix="empty_batch").timeline().page
    assert "Expectation not met" not in sim.run(STORY).timeline().page
