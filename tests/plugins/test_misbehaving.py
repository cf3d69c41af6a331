"""Plugins that raise, loop, lie or exit: one line that names the plugin, and no harm beyond it."""

import json
import signal
from pathlib import Path

import pytest

import sim
from sim import invariant_plugins, plugins
from sim.bounds import Bounds
from sim.compaction.extending import register_strategy
from sim.invariant_plugins import forget_invariants, registered_invariants
from sim.sweeps.plan import number_runs
from sim.sweeps.work import rows_of_cases
from tests.plugins.plugged import PAIR, replog
from tests.plugins.test_invariants import made
from tests.sweeps.fakes import plan

STRATEGY = '''
from sim.plugins import register_strategy

@register_strategy
class Mine:
    """Mine."""
    name, source, latest_wins = "mine", "a test", False
    def version(self, record):
        if record.key == "A":
            {answer}
        return (record.offset,)
'''
INVARIANT = '''
from sim.plugins import Invariant, register_invariant

@register_invariant
class Mine(Invariant):
    """A law."""
    name, source = "mine", "a test"
    def on_appended(self, event):
        {body}
'''
STORY = PAIR.replace("strategy: longest", "strategy: mine")
PLAIN = STORY.replace("rules: {strategy: mine}\n", "")

IMPORTS = {
    "an error": ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    "the end": ("raise SystemExit", "cannot be imported: SystemExit"),
    "the end, at once": ("import os; os._exit(0)", "cannot be imported: SystemExit: os._exit(0)"),
    "no Exception": ("class X(BaseException): pass\nraise X(1)", "cannot be imported: X: 1"),
    "no Python": ("def", "cannot be imported: SyntaxError: "),
    "a loop": ("while True: pass", "its import hit a bound: wall time: more than 0.2 s"),
}


@pytest.mark.parametrize(("text", "complaint"), IMPORTS.values(), ids=IMPORTS)
def test_an_import_that_goes_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str
) -> None:
    monkeypatch.setattr(plugins, "IMPORT_SECONDS", 0.2)
    (tmp_path / "mine.py").write_text(text)

    ran = replog(tmp_path, "list", "rules", "--plugin", "mine")

    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"replog: plugin mine: {complaint}")
    assert len(line) < 500


@pytest.mark.parametrize("name", ["../mine", "", "x\ny", "-c"])
def test_what_is_no_name_of_a_module_is_refused(tmp_path: Path, name: str) -> None:
    ran = replog(tmp_path, "list", "rules", f"--plugin={name}")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"replog: plugin {name!r}: not the name of a module, such as longest or mine.laws\n"
    )


def test_ctrl_c_during_an_import_is_an_interruption(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt")

    assert replog(tmp_path, "list", "rules", "--plugin", "mine").returncode == 130


def test_an_import_leaves_time_bounds_and_the_current_folder_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import os; os.chdir('/')\n" + STRATEGY.format(answer="pass"))
    (tmp_path / "story.yaml").write_text(STORY)
    before, left = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)

    assert replog(tmp_path, "run", "--plugin", "mine", "story.yaml").returncode == 0
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == pytest.approx(left, abs=10)


PRINTS = {
    "on import": "print('printed')\n" + STRATEGY.format(answer="pass"),
    "and closes it": "import sys; print('printed'); sys.stdout.close()\n"
    + STRATEGY.format(answer="sys.stdout.close()"),
}


@pytest.mark.parametrize("text", PRINTS.values(), ids=PRINTS)
def test_what_a_plugin_prints_is_not_among_the_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "story.yaml").write_text(STORY)

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine", "--json")

    assert ran.returncode == 0
    assert json.loads(ran.stdout)["verdict"] == "holds"
    assert "printed\n" in ran.stderr


ANSWERS = {
    "an error": ("raise KeyError(record.key)", "raises KeyError: 'A' at Record(offset="),
    "the end": ("raise SystemExit(0)", "raises SystemExit: 0 at Record(offset="),
    "a fraction": ("return (0.5, 1)", "a version is a tuple of whole numbers, not (0.5, 1)"),
    "an endless text": ("return 'x' * 10**6", "a version is a tuple of whole numbers, not 'xxx"),
}


@pytest.mark.parametrize(("answer", "complaint"), ANSWERS.values(), ids=ANSWERS)
def test_a_strategy_that_goes_wrong_in_a_run_is_one_line(
    tmp_path: Path, answer: str, complaint: str
) -> None:
    (tmp_path / "mine.py").write_text(STRATEGY.format(answer=answer))
    (tmp_path / "story.yaml").write_text(STORY)

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine")

    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert f"plugin mine: strategy mine: {complaint}" in line
    assert len(line) < 800


OTHERS = {
    "a fix raises": (
        (
            "def keeps(tail):\n  if tail.high_watermark == 2: 1 / 0\n  return Kept()\n"
            "register_fix(Fix('mine', 'x', 'x', keeps))"
        ),
        "fix: mine",
        "fix mine: raises ZeroDivisionError: division by zero at Tail(",
    ),
    "a fix keeps what is far away": (
        (
            "def keeps(tail):\n  return Kept(10**30 if tail.high_watermark == 2 else None)\n"
            "register_fix(Fix('mine', 'x', 'x', keeps))"
        ),
        "fix: mine",
        "fix mine: keeps offset 1000000000000000000000000000000, but the log ends at 1",
    ),
    "a tombstone rule answers with a number": (
        (
            "def may(case):\n  return 5 if case.offset == 1 else False\n"
            "register_tombstone_removal(TombstoneRemoval('mine', 'x', 'x', may))"
        ),
        "tombstone_removal: mine",
        "tombstone removal mine: may_remove answers True or False, not 5",
    ),
}


@pytest.mark.parametrize(("text", "rule", "complaint"), OTHERS.values(), ids=OTHERS)
def test_fixes_and_tombstone_rules_are_held_to_their_answers(
    tmp_path: Path, text: str, rule: str, complaint: str
) -> None:
    (tmp_path / "mine.py").write_text(
        "from sim.compaction import Fix, TombstoneRemoval\nfrom sim.compaction.fixes import Kept\n"
        f"from sim.plugins import register_fix, register_tombstone_removal\n{text}\n"
    )
    (tmp_path / "story.yaml").write_text(
        PAIR.replace("strategy: longest", rule).replace(
            "append r1 b A", "append r1 k=null A tombstone=true"
        )
    )

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"plugin mine: {complaint}" in ran.stderr


BODIES = {
    "an error": ("1 / 0", ", on_appended: raises ZeroDivisionError: division by zero at Appended("),
    "the end": ("raise SystemExit", ", on_appended: raises SystemExit at Appended("),
    "a sentence in bytes": ("self.violated(b'x')", ": its sentence is b'x'; allowed: a text"),
    "an offset out of bounds": (
        "self.violated('x', offset=10**30)",
        ": offset is 1000000000000000000000000000000; allowed: a whole number of 64 bits, None",
    ),
    "a key in bytes": ("self.violated('x', key=b'k')", ": key is b'k'; allowed: a text"),
    "reports for ever": (
        "for n in range(10**9): self.violated('x', offset=n)",
        ": reports more than 1,000 violations in one run",
    ),
}


@pytest.mark.parametrize(("body", "complaint"), BODIES.values(), ids=BODIES)
def test_an_invariant_that_goes_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, complaint: str
) -> None:
    monkeypatch.setattr(invariant_plugins, "VIOLATIONS_MAX", 1_000)
    (tmp_path / "mine.py").write_text(INVARIANT.format(body=body))
    (tmp_path / "story.yaml").write_text(PLAIN)

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine")

    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert f"plugin mine: invariant mine{complaint}" in line
    assert len(line) < 1_000


NAMES = ["a b", "x" * 65, "__class__", ""]


@pytest.mark.parametrize("name", NAMES)
def test_an_absurd_name_is_refused(name: str) -> None:
    class Mine:
        source, latest_wins = "a test", True

        def version(self, record: object) -> tuple[int, ...]:
            return ()

    Mine.name = name  # type: ignore[attr-defined]
    with pytest.raises(sim.BadInput, match=r"a name is a letter|allowed: a text that is not empty"):
        register_strategy(Mine)
    with pytest.raises(sim.BadInput, match="allowed: words in lower case, joined by hyphens"):
        invariant_plugins.register_invariant(made(name=name))


LOOPS = {
    "a strategy": (STRATEGY.format(answer="while True: pass"), STORY),
    "an invariant": (INVARIANT.format(body="while True: pass"), PLAIN),
}


@pytest.mark.parametrize(("text", "story"), LOOPS.values(), ids=LOOPS)
def test_one_that_loops_in_a_run_ends_at_its_bound(tmp_path: Path, text: str, story: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "story.yaml").write_text(story)

    ran = replog(tmp_path, "run", "story.yaml", "--plugin", "mine", "--max-seconds", "0.1")

    assert ran.returncode == 3
    assert "wall time: more than 0.1 s" in ran.stdout + ran.stderr


class TestInASweep:
    """What goes wrong in a run of a sweep is that run's error; the others go on."""

    @pytest.fixture(autouse=True)
    def forgotten(self):  # type: ignore[no-untyped-def]
        laws = len(registered_invariants())
        yield
        forget_invariants(laws)

    @pytest.mark.parametrize("raised", [KeyError, SystemExit])
    def test_an_invariant_that_raises_makes_an_error_row(self, raised: type) -> None:
        def on_appended(self: object, event: object) -> None:
            raise raised

        invariant_plugins.register_invariant(made(on_appended=on_appended))
        (row, *others) = rows_of_cases(number_runs(plan()), range(2))

        assert [one["verdict"] for one in (row, *others)] == ["error"] * 6
        last = row["error"].strip().splitlines()[-1]
        assert last.startswith("sim.errors.PluginError: plugin ")
        assert f"invariant a-law, on_appended: raises {raised.__name__}" in last

    def test_one_that_loops_ends_at_the_bound_of_time(self) -> None:
        def on_appended(self: object, event: object) -> None:
            while True:
                pass

        invariant_plugins.register_invariant(made(on_appended=on_appended))
        (row, *_) = rows_of_cases(number_runs(plan()), range(1), bounds=Bounds(0.1))

        assert (row["verdict"], row["reason"]) == ("inconclusive", "wall time: more than 0.1 s")
