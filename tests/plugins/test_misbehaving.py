"""Plugins that raise, or answer with what they may not: one line that names the plugin."""

import signal
from pathlib import Path

import pytest
import yaml

import sim
from sim.check.registry import register_invariant
from sim.protocol.compaction.extending import register_strategy
from sim.study.sweep.plan import number_runs
from sim.study.sweep.work import rows_of_cases
from tests.plugins.plugged import EXAMPLE, OTHERS, PAIR, forgetting_plugins, replog
from tests.plugins.test_invariants import made
from tests.sweeps.fakes import plan

IMPORTS = [
    (None, "cannot be imported: ModuleNotFoundError: No module named 'mine'"),
    ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    ("raise SystemExit", "cannot be imported: SystemExit"),
    ("def", "cannot be imported: SyntaxError: "),
    ("", "registers nothing; allowed: register_strategy, register_fix, register_tomb"),
    (EXAMPLE.replace('"longest"', '"offset"'), "strategy 'offset': the name is taken"),
    (EXAMPLE.replace("latest_wins", "other"), "strategy 'longest': latest_wins is missing"),
    (EXAMPLE.replace(", record.offset", ","), "the later does not win"),
    (EXAMPLE.replace("record.value or", "record.key and 1 /"), "raises TypeError: "),
    (OTHERS.replace(" % 2 == 0", ""), "may_remove answers True or False, not 4"),
    (OTHERS.replace("Kept()", "Kept(99)"), "keeps offset 99, but the last offset is -1"),
]


@pytest.mark.parametrize(("text", "complaint"), IMPORTS, ids=[told for _, told in IMPORTS])
def test_one_that_cannot_be_used_is_one_line(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)

    ran = replog(tmp_path, "list", "rules", "--plugin", "mine")

    assert (ran.status, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("replog: plugin mine: ")
    assert complaint in line
    assert len(line) < 500


def test_what_is_no_name_is_refused() -> None:
    class Mine:
        source, latest_wins = "a test", True

        def version(self, record: object) -> tuple[int, ...]:
            return ()

    for name in ("a b", "x" * 65, ""):
        Mine.name = name  # type: ignore[attr-defined]
        with pytest.raises(sim.BadInput, match=r"a name is a letter|a text that is not empty"):
            register_strategy(Mine)


def test_ctrl_c_during_an_import_is_an_interruption(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt")

    assert replog(tmp_path, "list", "rules", "--plugin", "mine").status == 130


INVARIANT = '''
from sim.plugins import Invariant, register_invariant

@register_invariant
class Mine(Invariant):
    """A law."""
    name, source = "mine", "a test"
    def on_appended(self, event):
        {}
'''
RUNS = yaml.safe_load(Path(__file__).with_name("misbehaving.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RUNS.values(), ids=RUNS)
def test_what_goes_wrong_in_a_run_is_one_line(tmp_path: Path, case: dict[str, str]) -> None:
    (tmp_path / "mine.py").write_text(case["module"])
    (tmp_path / "story.yaml").write_text(
        PAIR.replace("strategy: longest", case["rule"]).replace(
            "append r1 b A", "append r1 k=null A tombstone=true"
        )
    )

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine")

    assert (ran.status, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert f"plugin mine: {case['told']}" in line
    assert len(line) < 1_000


def test_one_that_loops_in_a_run_ends_at_its_bound(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(INVARIANT.format("while True: pass"))
    (tmp_path / "story.yaml").write_text(PAIR.replace("rules: {strategy: longest}\n", ""))
    before, left = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine", "--max-seconds", "0.1")

    assert ran.status == 3
    assert "wall time: more than 0.1 s" in ran.out + ran.err
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == pytest.approx(left, abs=10)


def test_in_a_sweep_it_is_the_error_of_a_run() -> None:
    def on_appended(self: object, event: object) -> None:
        raise KeyError

    with forgetting_plugins():
        register_invariant(made(on_appended=on_appended))
        (row, *others) = rows_of_cases(number_runs(plan()), range(2))

    assert [one["verdict"] for one in (row, *others)] == ["error"] * 6
    last = row["error"].strip().splitlines()[-1]
    assert last.startswith("sim.errors.PluginError: plugin ")
    assert "invariant a-law, on_appended: raises KeyError" in last
