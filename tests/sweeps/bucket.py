"""A store of objects in memory: no rename but a copy, no locks, writes that are whole or lost."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from sim.sweeps.engines.hadoop_lock import FileLock


class LostError(OSError):
    """The driver, or its way to the store, went in the middle of a write."""


class Bucket:
    """See `sim.sweeps.storage.Storage`."""

    label = "store://bucket"

    def __init__(self, *, exclusive: bool = True) -> None:
        self.objects: dict[str, tuple[bytes, float]] = {}
        self.exclusive = exclusive
        self.now = 0.0
        self.puts = 0
        self.lost_from: int | None = None
        """The number of the first write that does not arrive; none after it does."""

    def _put(self, name: str, content: bytes) -> None:
        self.puts += 1
        if self.lost_from is not None and self.puts >= self.lost_from:
            raise LostError(5, "connection reset", name)
        self.objects[name] = content, self.now

    def url(self, name: str) -> str:
        return f"{self.label}/{name}"

    def entries(self) -> list[str]:
        return sorted({name.split("/")[0] for name in self.objects})

    def names(self, under: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(f"{under}/"))

    def size(self, name: str) -> int:
        return len(self.read(name))

    def read(self, name: str) -> bytes:
        if name not in self.objects:
            raise FileNotFoundError(2, "no such object", name)
        return self.objects[name][0]

    def write(self, name: str, content: bytes) -> None:
        self._put(name, content)

    def create(self, name: str, content: bytes, *, overwrite: bool) -> None:
        if self.exclusive and not overwrite and name in self.objects:
            raise FileExistsError(17, "exists", name)
        self._put(name, content)

    def rename(self, old: str, new: str) -> None:
        self._put(new, self.read(old))
        self.remove(old)

    def remove(self, name: str) -> None:
        for one in [one for one in self.objects if one == name or one.startswith(f"{name}/")]:
            if self.lost_from is None or self.puts < self.lost_from:
                del self.objects[one]

    def modified_ms(self, name: str) -> int:
        self.read(name)
        return int(self.objects[name][1] * 1000)

    @contextmanager
    def lock(self, owner: str) -> Iterator[None]:
        lock = FileLock(self, owner, settle_seconds=0.0, stale_seconds=90.0)
        held: AbstractContextManager[None] = lock.held()
        with held:
            yield
