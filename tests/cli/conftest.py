"""The command in this process: what it prints and how it ends.

Sweeps "by processes" simulate in this one, too: to start Python twice takes longer than the few
runs of such a test. test_process.py and tests/sweeps try real processes.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweeps.fakes import plan, plan_text, simulating_here

SMALL: dict[str, object] = {
    "count": 6,
    "seed": 3,
    "generate": {"mix": "quiet", "duration_ms": 3000},
    "rules": {"preset": "kip-280"},
    "rule_sets": [{"fix": "none"}, {"fix": "empty_batch"}],
}
PLAN = plan_text(**SMALL)


@pytest.fixture(autouse=True)
def _in_this_process() -> Iterator[None]:
    with simulating_here():
        yield


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small sweep of twelve runs. Only to be read."""
    from sim.study.sweep.runner import run_sweep

    out = tmp_path_factory.mktemp("swept") / "out"
    with simulating_here():
        run_sweep(plan(**SMALL), out=out, engine="process")
    return out
