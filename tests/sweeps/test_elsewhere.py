"""A sweep on a file system that is not this machine's: written, resumed and read."""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.storage import place, require_here, spark_settings
from tests.sweeps.fakes import plan, quick, simulating_here
from tests.sweeps.test_engines import assert_same

CASES = 12


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep, written here."""
    out = tmp_path_factory.mktemp("here") / "out"
    with simulating_here():
        run_sweep(plan(), out=out, count=CASES, engine="process", open_case=quick)
    return out


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("out", Path("out")),
        ("./a:b", Path("a:b")),
        ("hdfs://name/sweeps/one", "hdfs://name/sweeps/one"),
        ("s3a://bucket", "s3a://bucket"),
    ],
)
def test_what_has_a_scheme_is_an_address(text: str, meant: Path | str) -> None:
    assert place(text) == meant


def test_who_reads_a_folder_says_how_to_get_it() -> None:
    with pytest.raises(BadInput, match=r"copy it here"):
        require_here("s3a://b/x", what="a gate")


@pytest.mark.parametrize("word", ["executor.memory=1g", "spark.executor.memory", "=1"])
def test_a_setting_needs_a_name_of_sparks_and_a_value(word: str) -> None:
    with pytest.raises(BadInput, match=rf"--conf {re.escape(word)}: give NAME=VALUE"):
        spark_settings([word])


def test_settings_of_spark_are_for_spark() -> None:
    assert spark_settings(["spark.a=b=c", "spark.d="]) == {"spark.a": "b=c", "spark.d": ""}
    with pytest.raises(BadInput, match="only Spark has settings"):
        spark_settings(["spark.a=b"], engine="process")


@pytest.mark.spark
def test_a_sweep_on_a_file_system_of_hadoops_is_written_resumed_and_checked(
    spark: Any, reference: Path, tmp_path: Path
) -> None:
    from sim.study.sweep.engines.hadoop import HadoopFolder

    lake, out = tmp_path / "lake", "viewfs://lake/sweeps/one"
    lake.mkdir()
    mounts = spark.sparkContext._jsc.hadoopConfiguration()
    mounts.set("fs.viewfs.mounttable.lake.link./sweeps", lake.as_uri())
    run_sweep(plan(), out=out, count=CASES, engine="spark", partitions=3, open_case=quick)
    part = next((lake / "one" / "runs").glob("part-*.parquet"))
    rows = pq.read_metadata(part).num_rows

    folder = HadoopFolder(spark.sparkContext, out)
    assert folder.read("plan.json") == (lake / "one" / "plan.json").read_bytes()
    assert folder.entries() == ["plan.json", "runs", "summary.csv", "tallies.json"]
    folder.remove(f"runs/{part.name}")
    folder.remove("tallies.json")

    result = run_sweep(plan(), out=out, count=CASES, resume=True, open_case=quick)

    assert result.runs_before == result.runs - rows
    assert_same(lake / "one", reference)
    twice = next((lake / "one" / "runs").glob("part-*.parquet"))
    twice.with_name("part-again.parquet").write_bytes(twice.read_bytes())
    with pytest.raises(BadInput, match=r"viewfs://lake/sweeps/one/runs: holds case \d+ twice"):
        run_sweep(plan(), out=out, count=CASES, resume=True, open_case=quick)
    with pytest.raises(BadInput, match=r"No FileSystem for scheme .*spark\.jars\.packages"):
        run_sweep(plan(), out="nosuch://x/y", engine="spark", open_case=quick)
