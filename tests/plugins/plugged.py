"""Plugins of a user in a folder of their own, with a plan, a story and a log file that need one."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from sim import plugins
from sim.check.registry import forget_invariants, registered_invariants
from sim.protocol.compaction.extending import REGISTERED, forget
from tests import commands
from tests.commands import ROOT, Ended
from tests.guide.run_page import Written, steps_of
from tests.sweeps.fakes import plan_text

PAGE = ROOT / "notebooks/guide/pages/howto/extend.md"
EXAMPLE, *_others = (step.text for step in steps_of(PAGE.read_text()) if isinstance(step, Written))
OTHERS = """
from sim.plugins import Kept, TombstoneRemoval, register_fix, register_tombstone_removal

@register_fix
class Everything:
    name, source = "nothing_more", "a test"

    def keeps(self, tail):
        return Kept()

def even(circumstances):
    return circumstances.offset % 2 == 0

register_tombstone_removal(TombstoneRemoval("even", "a test", "at even offsets", even))
"""
SHORT_LOGS = """
from sim.plugins import Invariant, register_invariant

@register_invariant
class ShortLogs(Invariant):
    '''No log has a second offset.'''

    name, source = "short-logs", "an example"

    def on_quiesced(self, event):
        for replica in self.history.replicas.values():
            if replica.log_end_offset > 1:
                self.violated(f"{replica.name} has two offsets.", replica=replica.name)
"""
PLAN: dict[str, object] = {
    "count": 2,
    "seed": 3,
    "generate": {"mix": "quiet", "duration_ms": 2000},
    "rules": {},
    "rule_sets": [{"strategy": "offset"}, {"strategy": "longest"}],
}
"""Fields of a plan of two strategies."""
PAIR = """\
format: replog-story/1
id: longest
title: the longest value wins
source: a test
rules: {strategy: longest}
replicas: [r1]
steps: [elect r1 1, append r1 a A, append r1 b A, compact r1]
"""


@contextmanager
def forgetting_plugins() -> Iterator[None]:
    """All plugins that are loaded in here are forgotten afterwards."""
    registered, named = len(REGISTERED), [*plugins._NAMED]
    laws = len(registered_invariants())
    with patch.object(sys, "path", [*sys.path]):
        try:
            yield
        finally:
            forget(registered)
            forget_invariants(laws)
            plugins._NAMED[:] = named
            for module in ("longest", "others", "mine", "raises", "laws", "short_logs"):
                sys.modules.pop(module, None)
            importlib.invalidate_caches()


def replog(folder: Path, *arguments: object) -> Ended:
    """The command in a folder that holds the plugins, which are forgotten afterwards."""
    with chdir(folder), forgetting_plugins():
        return commands.replog(*arguments)


LOG = """{"format": "replog-log/1", "title": "log", "source": "a test",
 "rules": {"strategy": "longest"},
 "segments": [[
   {"base_offset": 0, "last_offset": 0, "records": [{"offset": 0, "key": "K", "value": "longer"}]},
   {"base_offset": 1, "last_offset": 1, "records": [{"offset": 1, "key": "K", "value": "short"}]}],
  {"base_offset": 2, "batches": []}],
 "steps": [{"op": "clean", "now_ms": 0, "first_dirty_offset": 0, "upper_bound": 2}],
 "expect": [{"surviving_offsets": [1]}]}
"""


def with_plugins(folder: Path) -> Path:
    """The same folder, with two plugins and a plan in it."""
    (folder / "longest.py").write_text(EXAMPLE)
    (folder / "others.py").write_text(OTHERS)
    (folder / "plan.yaml").write_text(plan_text(**PLAN))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return with_plugins(tmp_path)
