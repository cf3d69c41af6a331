"""A sweep on a cluster whose machines have nothing of it, parts of which are killed meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from sim.sweeps.engines.session import WAIT
from sim.sweeps.plan import load_plan
from sim.sweeps.runner import run_sweep
from tests.sweeps.conftest import ROOT
from tests.sweeps.fakes import simulating_here
from tests.sweeps.spark_cluster import PATIENCE_SECONDS, SMALL_SPARK, Cluster, wait_until
from tests.sweeps.test_engines import assert_same

PLAN = """\
format: replog-sweep/1
title: short runs
source: a test
count: 20
seed: 3
generate: {mix: reference, duration_ms: 3000, sends: [30, 60]}
rules: {preset: kip-280}
rule_sets: [{fix: none}, {fix: leo_retention}, {fix: empty_batch}]
"""
BLOCKS = 20
"""Of a case each."""

DRIVER = f"""
import sys, time
from pathlib import Path
from sim.sweeps import runner
from sim.sweeps.engines import packing
from sim.sweeps.plan import load_plan
from sim.sweeps.runner import run_sweep

packing.COMPRESSION = 0  # the way to every machine is short
runner.measure_rate = lambda *_, **__: 100.0
settings = {SMALL_SPARK | {WAIT: f"{PATIENCE_SECONDS}s"}} | {{"spark.cores.max": sys.argv[3]}}
result = run_sweep(load_plan(Path("plan.yaml")), out=Path(sys.argv[1]), master=sys.argv[2],
                   spark=settings, partitions={BLOCKS}, resume=True)
print(result.runs_before, result.runs)
"""


def start(cluster: Cluster, out: Path, *, executors: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(out), cluster.master, str(executors)],
        cwd=cluster.folder,
        env=cluster.environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def blocks(out: Path) -> int:
    return len(list(out.glob("runs/part-*.parquet")))


def wait_for_blocks(out: Path, more: int, driver: subprocess.Popen[str]) -> None:
    before = blocks(out)
    wait_until(lambda: blocks(out) >= before + more or driver.poll() is not None, "a block")
    assert driver.poll() is None, driver.communicate()


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_tables_are_the_same_when_the_driver_and_a_worker_are_killed(
    tmp_path: Path,
) -> None:
    out, reference = tmp_path / "out", tmp_path / "reference"
    (tmp_path / "plan.yaml").write_text(PLAN)
    with Cluster(tmp_path, workers=2) as cluster:
        asked = [cluster.python, "-c", "import pyarrow"]
        assert subprocess.run(asked, capture_output=True, check=False).returncode != 0

        driver = start(cluster, out, executors=1)
        with simulating_here():
            run_sweep(load_plan(tmp_path / "plan.yaml"), out=reference, engine="process")
        wait_for_blocks(out, 1, driver)
        driver.kill()
        driver.communicate()
        wait_until(lambda: not cluster.processes("SparkSubmit"), "the end of the driver's Java")
        wait_until(lambda: not cluster.executors(), "the end of its executors")

        kept = blocks(out)
        driver = start(cluster, out, executors=2)
        wait_for_blocks(out, 1, driver)
        cluster.kill_worker()
        told, complained = driver.communicate(timeout=PATIENCE_SECONDS)
        assert driver.returncode == 0, complained
        before, runs = map(int, told.split())
        assert 0 < before < runs == 3 * BLOCKS
        assert blocks(out) > kept
        assert complained == ""
        wait_until(lambda: len(cluster.processes()) == 2, "nothing but a master and a worker")
    assert cluster.processes() == []
    assert_same(out, reference)
