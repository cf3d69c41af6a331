"""`replog matrix`: what one rule decides."""

from importlib.metadata import version
from pathlib import Path

from tests.cli.conftest import Replog

KIP280 = Path(__file__).resolve().parents[2] / "scenarios/kip280"
LOST_TAIL = KIP280 / "kip280_16_believed_position_epoch_truncation_no_fix.yaml"


def test_it_prints_invariants_prices_and_scenarios(replog: Replog) -> None:
    answer = replog("matrix", LOST_TAIL, "--vary", "fix=none,empty_batch")

    assert (answer.status, answer.err) == (0, "")
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["invariant", "none", "empty_batch"] in rows
    assert ["no-offset-reuse", "1", "holds"] in rows
    assert [LOST_TAIL.stem, "follower-position-sound", "+6", "holds"] in rows
    assert answer.out.splitlines()[-1] == "fix makes a difference in 1 of 1 scenarios"


def test_it_says_under_which_other_rules(replog: Replog) -> None:
    answer = replog(
        "matrix", LOST_TAIL, "--vary", "fix=none,empty_batch", "--under", "follower_position"
    )

    rows = [line.split() for line in answer.out.splitlines()]
    assert ["B:", "follower_position=read_end"] in rows
    assert ["no-offset-reuse", "A", "B", "holds"] in rows


def test_the_page_has_the_command_that_makes_it_again(replog: Replog, here: Path) -> None:
    given = [
        *("matrix", LOST_TAIL, "--vary", "fix=none,empty_batch", "--under", "leo_source"),
        *("--rule", "delete_retention_ms=5", "--skip", "x*", "-o", "page.md"),
    ]
    answer = replog(*given)

    first = Path("page.md").read_text(encoding="utf-8")
    [command] = [line for line in first.splitlines() if line.startswith("$ replog ")]
    assert answer.out.splitlines()[-1] == "page.md"
    Path("page.md").unlink()
    replog(*[word.strip("'") for word in command.split()[2:]])
    assert Path("page.md").read_text(encoding="utf-8") == first


def test_a_sweep_adds_what_random_runs_say(replog: Replog, here: Path, swept: Path) -> None:
    asked = ("matrix", LOST_TAIL, "--vary", "fix=none,empty_batch", "--sweep", swept)

    assert replog(*asked).complaint == "--sweep: needs a page to write to: -o OUT"
    assert replog(*asked, "-o", "page.md").status == 0
    text = Path("page.md").read_text(encoding="utf-8")
    assert "## In random runs: two fixes" in text
    assert "| of the cases | none | empty_batch |" in text
    assert f"Made by Replog {version('replog')}" in text


def test_a_sweep_that_does_not_vary_the_rule_is_refused(
    replog: Replog, here: Path, swept: Path
) -> None:
    answer = replog("matrix", LOST_TAIL, "--vary", "truncation", "--sweep", swept, "-o", "page.md")

    assert answer.status == 2
    assert answer.complaint.endswith("this sweep does not vary truncation; it varies fix")
    assert not Path("page.md").exists()


def test_a_shipped_scenario_is_named_from_anywhere(replog: Replog, here: Path) -> None:
    answer = replog("matrix", "kip280_16", "--vary", "fix=none,empty_batch", "--json")

    assert answer.status == 0
    assert answer.document


def test_as_json(replog: Replog) -> None:
    document = replog("matrix", LOST_TAIL, "--vary", "fix=none,empty_batch", "--json").document

    assert document["format"] == "replog-matrix/1"
    assert document["values"] == ["none", "empty_batch"]


def test_bad_input_is_one_line(replog: Replog, here: Path) -> None:
    assert replog("matrix", "nowhere", "--vary", "fix").complaint == "nowhere: no such folder"
    assert "missing option" in replog("matrix", LOST_TAIL).complaint.lower()
    assert (
        "no such folder"
        in replog("matrix", LOST_TAIL, "--vary", "fix", "-o", "no/page.md").complaint
    )
