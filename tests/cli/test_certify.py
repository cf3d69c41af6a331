"""`replog certify`: what it prints, and its exit statuses."""

from pathlib import Path

import pytest

from tests.commands import ROOT, replog

STORY = ROOT / "scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml"


@pytest.fixture
def trace(here: Path) -> Path:
    """The trace of a story that violates three invariants."""
    replog("run", str(STORY), "--trace", "trace.ndjson")
    return here / "trace.ndjson"


def rewrite(trace: Path, old: str, new: str) -> None:
    text = trace.read_text()
    assert old in text
    trace.write_text(text.replace(old, new))


def test_it_says_what_both_say_where_they_disagree(trace: Path) -> None:
    rewrite(trace, '"invariant":"no-resurrection"', '"invariant":"lso-progress"')
    done = replog("certify", str(trace))
    assert done.status == 1
    assert "disagree about no-resurrection, lso-progress" in done.out
    assert "found at 16: r3, offset 0; the law: At rest no log that ends above" in done.out
    assert "reported by the run at 16: r3" in done.out


def test_a_strategy_of_a_plugin_cannot_be_decided(trace: Path) -> None:
    rewrite(trace, '"strategy":{"name":"offset"', '"strategy":{"name":"longest"')
    done = replog("certify", str(trace))
    assert done.status == 3
    assert "cannot decide: strategy longest is not known" in done.err
