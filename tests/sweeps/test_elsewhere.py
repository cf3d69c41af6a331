"""A sweep on a file system that is not this machine's: written, resumed, and brought here."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.sweeps.fetch import fetch_sweep
from sim.sweeps.places import place, require_here, spark_settings
from sim.sweeps.runner import SweepResult, run_sweep
from sim.sweeps.storage import LocalStorage
from sim.sweeps.whole import state_of
from tests.sweeps.bucket import Bucket
from tests.sweeps.fakes import plan, quick, simulating_here
from tests.sweeps.test_engines import assert_same

CASES = 12
ADDRESS = "store://bucket"


def quiet(_done: int, _of: int) -> None:
    """Nobody watches."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, in_this_process: None) -> Bucket:
    """Where sweeps under an address go."""
    made = Bucket()
    monkeypatch.setattr("sim.sweeps.runner._place", lambda *_: nullcontext(made))
    monkeypatch.setattr("sim.sweeps.waves.WAVE_SECONDS", 0.0)
    return made


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep, written here."""
    out = tmp_path_factory.mktemp("here") / "out"
    with simulating_here():
        run_sweep(plan(), out=out, count=CASES, engine="process", open_case=quick)
    return out


def sweep(*, resume: bool = False) -> SweepResult:
    return run_sweep(
        plan(),
        out=ADDRESS,
        count=CASES,
        engine="process",
        partitions=2,
        resume=resume,
        open_case=quick,
    )


def test_a_sweep_in_a_store_of_objects_is_the_same_once_it_is_here(
    bucket: Bucket, reference: Path, tmp_path: Path
) -> None:
    assert sweep().out == ADDRESS
    assert not [name for name in bucket.objects if name.startswith(".")]

    copied = fetch_sweep(bucket, tmp_path / "out", tell=quiet)

    assert copied == len(bucket.objects)
    assert_same(tmp_path / "out", reference)


def test_whichever_write_is_lost_the_sweep_is_the_same_once_it_was_resumed(
    bucket: Bucket, reference: Path, tmp_path: Path
) -> None:
    sweep()
    writes = bucket.puts
    assert writes > 2 * 5  # two waves, of a manifest's draft, three parts and the manifest each
    for first_lost in range(1, writes + 1):
        bucket.objects.clear()
        bucket.puts, bucket.lost_from = 0, first_lost
        with pytest.raises(BadInput, match="connection reset"):
            sweep()
        bucket.lost_from = None
        bucket.now += 1_000.0  # the lock that stayed counts no more

        if "finished.json" not in bucket.objects:
            sweep(resume="plan.json" in bucket.objects)

        assert state_of(bucket, thorough=True).damage == ()
        fetch_sweep(bucket, tmp_path / str(first_lost), tell=quiet)
        assert_same(tmp_path / str(first_lost), reference)


def test_two_sweeps_at_once_are_refused(bucket: Bucket) -> None:
    with bucket.lock("process 7 on node1"), pytest.raises(BadInput, match="process 7 on node1"):
        sweep()


def test_a_part_that_changed_in_the_store_is_not_brought_here(
    bucket: Bucket, tmp_path: Path
) -> None:
    sweep()
    name = next(name for name in bucket.objects if name.endswith(".parquet"))
    content, when = bucket.objects[name]
    bucket.objects[name] = content[:-1] + b"x", when

    with pytest.raises(BadInput, match=rf"{ADDRESS}/{name}: has other content than was written"):
        fetch_sweep(bucket, tmp_path / "out", tell=quiet)

    assert not (tmp_path / "out" / "plan.json").exists()  # so that nobody reads what is there


def test_an_interrupted_copy_goes_on_where_it_was(bucket: Bucket, tmp_path: Path) -> None:
    sweep()
    out = tmp_path / "out"

    def interrupt(done: int, _of: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_sweep(bucket, out, tell=interrupt)

    assert fetch_sweep(bucket, out, tell=quiet) == len(bucket.objects) - 5
    assert fetch_sweep(bucket, out, tell=quiet) == 0
    assert state_of(LocalStorage(out), thorough=True).finished


def test_a_folder_with_something_else_is_left_alone(bucket: Bucket, tmp_path: Path) -> None:
    sweep()
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(BadInput, match=r"notes\.txt"):
        fetch_sweep(bucket, tmp_path, tell=quiet)

    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_unfinished_sweep_is_not_brought_here(bucket: Bucket, tmp_path: Path) -> None:
    sweep()
    bucket.remove("finished.json")

    with pytest.raises(BadInput, match="not finished, 36 of 36 runs are there"):
        fetch_sweep(bucket, tmp_path / "out", tell=quiet)


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
    with pytest.raises(BadInput, match=r"replog sweep fetch s3a://b/x DIR"):
        require_here("s3a://b/x", what="a gate")


def test_only_spark_writes_to_an_address(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--engine spark writes there"):
        run_sweep(plan(), out="s3a://b/x", engine="process", open_case=quick)


@pytest.mark.parametrize("word", ["executor.memory=1g", "spark.executor.memory", "=1"])
def test_a_setting_needs_a_name_of_sparks_and_a_value(word: str) -> None:
    with pytest.raises(BadInput, match=rf"--conf {re.escape(word)}: give NAME=VALUE"):
        spark_settings([word])


def test_settings_of_spark_are_for_spark() -> None:
    assert spark_settings(["spark.a=b=c", "spark.d="]) == {"spark.a": "b=c", "spark.d": ""}
    with pytest.raises(BadInput, match="only Spark has settings"):
        spark_settings(["spark.a=b"], engine="process")


@pytest.mark.spark
def test_a_sweep_on_a_file_system_of_hadoops_is_written_resumed_checked_and_fetched(
    spark: Any, reference: Path, tmp_path: Path
) -> None:
    from sim.sweeps.engines.hadoop import HadoopStorage

    lake, out = tmp_path / "lake", "viewfs://lake/sweeps/one"
    lake.mkdir()
    mounts = spark.sparkContext._jsc.hadoopConfiguration()
    mounts.set("fs.viewfs.mounttable.lake.link./sweeps", lake.as_uri())
    run_sweep(plan(), out=out, count=CASES, engine="spark", partitions=3, open_case=quick)
    assert not [path for path in (lake / "one").iterdir() if path.name in {".lock", ".staging"}]
    part = next((lake / "one" / "runs").rglob("part-*.parquet"))
    rows = pq.read_metadata(part).num_rows

    storage = HadoopStorage(spark.sparkContext, out)
    name = part.relative_to(lake / "one").as_posix()
    assert (storage.size(name), storage.read(name)) == (part.stat().st_size, part.read_bytes())
    with storage.lock("process 7 on node1"), pytest.raises(BadInput, match="process 7 on node1"):
        run_sweep(plan(), out=out, count=CASES, resume=True, open_case=quick)
    storage.remove(name)
    with pytest.raises(FileNotFoundError, match=name):
        storage.read(name)
    assert [what for _name, what in state_of(storage, thorough=True).damage] == ["is missing"]

    result = run_sweep(plan(), out=out, count=CASES, resume=True, open_case=quick)

    assert result.runs_before <= result.runs - rows
    fetch_sweep(storage, tmp_path / "out", tell=quiet)
    assert_same(tmp_path / "out", reference)
    with pytest.raises(BadInput, match=r"nosuch://x.*spark\.jars\.packages"):
        HadoopStorage(spark.sparkContext, "nosuch://x/y")
