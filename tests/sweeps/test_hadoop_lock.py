"""A lock that is a file with a heartbeat: whom it refuses, and when it counts no more."""

import time
from contextlib import ExitStack

import pytest

from sim.errors import BadInput
from sim.sweeps.engines.hadoop_lock import FileLock
from sim.sweeps.layout import LOCK_FILE
from tests.sweeps.bucket import Bucket


def lock(bucket: Bucket, owner: str, *, beat_seconds: float = 60.0) -> FileLock:
    return FileLock(bucket, owner, beat_seconds=beat_seconds, settle_seconds=0.0)


def test_a_second_writer_is_refused_and_the_first_is_named() -> None:
    bucket = Bucket()
    with lock(bucket, "process 7 on node1").held():
        bucket.now = 12.0
        with (
            pytest.raises(BadInput, match=r"process 7 on node1; last heard of 12 s ago") as caught,
            lock(bucket, "process 8 on node2").held(),
        ):
            pass
        assert "\n" not in str(caught.value)
        assert set(bucket.objects) == {LOCK_FILE}  # nothing of the second stays


def test_a_lock_that_was_left_is_free_and_so_is_one_that_was_released() -> None:
    bucket = Bucket()
    for owner in ("process 7", "process 8"):
        with lock(bucket, owner).held():
            assert owner.encode() in bucket.read(LOCK_FILE)
        assert bucket.objects == {}


def test_the_lock_of_a_dead_writer_is_taken_over_after_a_while() -> None:
    bucket = Bucket()
    with ExitStack() as dead:
        dead.enter_context(lock(bucket, "process 7").held())
        bucket.now = 89.0
        with pytest.raises(BadInput), lock(bucket, "process 8").held():
            pass
        bucket.now = 90.0
        with lock(bucket, "process 8").held():
            assert b"process 8" in bucket.read(LOCK_FILE)
        dead.pop_all()


def test_a_heartbeat_keeps_the_lock() -> None:
    bucket = Bucket()
    with lock(bucket, "process 7", beat_seconds=0.005).held():
        bucket.now = 1_000.0
        deadline = time.monotonic() + 10
        while bucket.modified_ms(LOCK_FILE) < 1_000_000 and time.monotonic() < deadline:
            time.sleep(0.005)
        with pytest.raises(BadInput), lock(bucket, "process 8").held():
            pass


def test_who_was_taken_over_notices_and_leaves_the_lock_of_the_other() -> None:
    bucket = Bucket()
    first = lock(bucket, "process 7", beat_seconds=0.005)
    with first.held():
        first.require_held()
        second = FileLock(bucket, "process 8")
        bucket.objects[LOCK_FILE] = second._content, bucket.now
        deadline = time.monotonic() + 10
        while first._taken_by is None and time.monotonic() < deadline:
            time.sleep(0.005)
        with pytest.raises(BadInput, match=r"taken it over \(process 8\).*nothing more is written"):
            first.require_held()

    assert b"process 8" in bucket.read(LOCK_FILE)


def test_where_creation_is_not_exclusive_the_claim_is_read_back() -> None:
    bucket = Bucket(exclusive=False)

    class Late(Bucket):
        """Another's claim arrives right after ours."""

        def create(self, name: str, content: bytes, *, overwrite: bool) -> None:
            super().create(name, content, overwrite=overwrite)
            super().create(name, FileLock(bucket, "process 8")._content, overwrite=True)

    with (
        pytest.raises(BadInput, match="process 8"),
        lock(Late(exclusive=False), "process 7").held(),
    ):
        pass
