"""A strategy, a fix or a tombstone rule in a module of a user is a value of its rule everywhere."""

import sys
from pathlib import Path

import pytest

from sim import plugins
from sim.errors import BadInput
from sim.plugins import register_fix, register_tombstone_removal
from sim.protocol.compaction import (
    FIXES,
    STRATEGIES,
    TOMBSTONE_REMOVALS,
    TombstoneRemoval,
    strategy_for,
)
from sim.protocol.compaction.extending import fix_problem, removal_problem, strategy_problem
from sim.protocol.compaction.fixes import Kept, Tail
from tests.plugins.plugged import EXAMPLE, folder, forgetting_plugins, replog
from tests.story.running import run_steps

__all__ = ["folder"]


def value_of(name: str, plugin: str, means: str, source: str) -> dict[str, str]:
    """A plugin's value as `replog list rules --json` tells it."""
    return {"value": name, "means": means, "source": source, "example": "", "plugin": plugin}


def test_plugins_are_listed_among_the_values_of_their_rules(folder: Path) -> None:
    named = ("--plugin", "longest", "--plugin", "others", "--json")
    rows = {row["rule"]: row for row in replog(folder, "list", "rules", *named).document}

    last = {rule: rows[rule]["values"][-1] for rule in ("strategy", "fix", "tombstone_removal")}
    assert last == {
        "strategy": value_of("longest", "longest", "the longest value wins", "an example"),
        "fix": value_of("nothing_more", "others", "", "a test"),
        "tombstone_removal": value_of("even", "others", "at even offsets", "a test"),
    }
    shown = replog(folder, "list", "rules", *named[:-1]).out
    assert "the longest value wins" in shown
    assert "an example (plugin longest)" in shown
    assert "(its module does not say what it means)" in shown


def test_an_installed_package_names_its_plugin_as_an_entry_point(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_INSTALLED", [])
    info = folder / "longest-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: longest\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[replog.plugins]\nlongest = longest\n")
    monkeypatch.syspath_prepend(folder)
    rows = replog(folder, "list", "rules", "--json").document

    assert rows[0]["values"][-1]["value"] == "longest"


def test_a_plugin_that_fails_half_way_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "half_way.py").write_text(EXAMPLE + "\nraise OSError('no more')\n")
    with pytest.raises(BadInput, match="plugin half_way: cannot be imported: OSError: no more"):
        plugins.load_plugins(["half_way"])

    assert "longest" not in STRATEGIES
    assert "--plugin=half_way" not in plugins.as_options()


def test_what_comes_with_replog_keeps_the_contracts() -> None:
    header = strategy_for("header", header_form="first_varint")
    problems = [strategy_problem(one) for one in (*STRATEGIES.values(), header)]
    problems += [fix_problem(one) for one in FIXES.values()]
    problems += [removal_problem(one) for one in TOMBSTONE_REMOVALS.values()]

    assert set(problems) == {None}


def test_what_may_go_at_one_time_may_go_later() -> None:
    rule = TombstoneRemoval("early", "a test", "before 50 ms", lambda c: c.now_ms < 50)
    assert removal_problem(rule) == "what it lets go at one time, it keeps at a later time"


def test_a_record_that_a_fix_keeps_inside_the_log_is_no_second_record_of_its_key() -> None:
    with forgetting_plugins():

        @register_fix
        class CleanedEnd:
            """The last record of the cleaned range stays."""

            name, source = "cleaned_end", "an example"

            def keeps(self, tail: Tail) -> Kept:
                return Kept(record_offset=tail.upper_bound - 1, batch_end=tail.upper_bound - 1)

        run = run_steps(
            """
            elect 1 1
            append 1 a A hdr=1
            append 1 b A hdr=0
            append 1 c A hdr=3
            compact 1 upto=2
            """,
            replicas=["1"],
            rules={"strategy": "header", "fix": "cleaned_end"},
        )

    assert run.replicas["1"].offsets == [0, 1, 2]
    assert run.violated == []


@pytest.mark.parametrize("coordinates", [False, True])
def test_the_limit_of_a_removal_rule_is_the_lowest_log_end_or_the_coordinated_bound(
    *, coordinates: bool
) -> None:
    steps = """
        elect 1 1
        append 1 k=null K tombstone=true
        sync 2 1
        compact 1
        compact 2
    """
    with forgetting_plugins():
        register_tombstone_removal(
            TombstoneRemoval(
                "below_limit",
                "a test",
                "below the limit",
                lambda c: c.offset < c.removal_limit,
                gates_markers=coordinates,
            )
        )
        left = [
            run_steps(ran, replicas=["1", "2"], rules={"tombstone_removal": "below_limit"})
            .replicas["1"]
            .offsets
            for ran in (steps, steps + "coordinate\ncompact 1")
        ]

    assert left == [[0] if coordinates else [], []]
