"""A sweep's folder on any file system that Spark writes to: hdfs://, s3a://, gs://, abfs://.

The files are read and written by the driver's Java, with the classes and the settings that Spark
itself uses (org.apache.hadoop.fs.FileSystem): what a session can read with an address, a sweep can
be written to.

HDFS renames at once, so a file is drafted beside its place and renamed. An object store has no
rename, and shows an object when it was written to its end.
"""

from __future__ import annotations

import errno
import re
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from sim.errors import BadInput

OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "wasb", "wasbs", "oss", "cosn", "obs", "o3fs"})
"""Schemes of file systems that copy to rename, and where a file appears when it is complete."""
JAVA_DIED = "Spark's Java died"
CHUNK = 4 * 1024 * 1024
"""Bytes handed to Java at a time."""

_JAVA_ERRORS = {
    "java.io.FileNotFoundException": errno.ENOENT,
    "org.apache.hadoop.fs.FileAlreadyExistsException": errno.EEXIST,
    "org.apache.hadoop.fs.ParentNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.fs.PathIsNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.security.AccessControlException": errno.EACCES,
    "java.nio.file.AccessDeniedException": errno.EACCES,
}


class HadoopFolder:
    """A folder by its address; see `sim.sweeps.storage.Folder`."""

    def __init__(self, context: SparkContext, address: str) -> None:
        """Raises BadInput when Spark knows no such file system, or cannot reach it."""
        java: Any = context._jvm  # noqa: SLF001 - the only way to Java's classes
        self._java = java
        settings = context._jsc.hadoopConfiguration()  # noqa: SLF001
        try:
            path = java.org.apache.hadoop.fs.Path(address)
            self._files: Any = path.getFileSystem(settings)
            self._root = self._files.makeQualified(path)
            self._files.exists(self._root)
            scheme = self._resolved_scheme()
        except Py4JJavaError as error:
            raise BadInput(f"{address}: {_reason(error)}") from None
        self._address = address.rstrip("/")
        self._renames = scheme not in OBJECT_STORES

    def _resolved_scheme(self) -> str:
        """That of the file system behind a mount table."""
        for path in (self._root, self._root.getParent()):
            with suppress(Py4JJavaError):
                return str(self._files.resolvePath(path).toUri().getScheme())
        return str(self._files.getUri().getScheme())

    @property
    def label(self) -> str:
        """The address."""
        return self._address

    def url(self, name: str) -> str:
        """See `Folder`."""
        return f"{self._root.toString()}/{name}"

    def entries(self) -> list[str]:
        """See `Folder`."""
        with self._errors():
            try:
                found = self._files.listStatus(self._root)
            except Py4JJavaError as error:
                if _kind(error) == errno.ENOENT:
                    return []
                raise
            if any(one.isFile() and one.getPath().equals(self._root) for one in found):
                raise NotADirectoryError(errno.ENOTDIR, "is a file", self._address)
            return sorted(str(one.getPath().getName()) for one in found)

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        with self._errors(name):
            stream = self._files.open(self._path(name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`: by a rename where there is one; an object appears when it is whole."""
        draft = f".{uuid.uuid4().hex}" if self._renames else name
        with self._errors(name):
            stream = self._files.create(self._path(draft), True)  # noqa: FBT003 - Java's: overwrite
            for start in range(0, len(content), CHUNK):
                stream.write(bytearray(content[start : start + CHUNK]))
            stream.close()
            if self._renames:
                self._files.delete(self._path(name), False)  # noqa: FBT003 - Java's: a file
                if not self._files.rename(self._path(draft), self._path(name)):
                    raise OSError(errno.EIO, "cannot be put in place", f"{self._address}/{name}")

    def remove(self, name: str) -> None:
        """See `Folder`."""
        with self._errors(name):
            self._files.delete(self._path(name), True)  # noqa: FBT003 - Java's: with all in it

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """No folder elsewhere is held: let one sweep at a time write there."""
        return nullcontext()

    def _errors(self, name: str = "") -> AbstractContextManager[None]:
        return _as_os_error(f"{self._address}/{name}" if name else self._address)

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self._root.toString()}/{name}")


@contextmanager
def _as_os_error(path: str) -> Iterator[None]:
    """Turns what Java raises about a file into the OSError that the same trouble is here."""
    try:
        yield
    except Py4JJavaError as error:
        raise OSError(_kind(error), _reason(error), path) from None
    except (Py4JError, ConnectionError):
        raise OSError(errno.EIO, f"cannot be reached: {JAVA_DIED}", path) from None


def _kind(error: Py4JJavaError) -> int:
    """The number of the error; one of the classes may be the cause of what was raised."""
    text = str(error.java_exception)
    for name, number in _JAVA_ERRORS.items():
        if name in text:
            return number
    if "No space left" in text or "QuotaExceeded" in text:
        return errno.ENOSPC
    return errno.EIO


def _reason(error: Py4JJavaError) -> str:
    """Java's own words, without its classes and its trace."""
    first = str(error.java_exception).split("\n", maxsplit=1)[0]
    words = re.sub(r"^(?:[\w$]+\.)+[\w$]+: ", "", first).strip()
    if "No FileSystem for scheme" in words or "ClassNotFoundException" in words:
        words += "; --conf spark.jars.packages=… brings the classes of a file system"
    return " ".join(words.split())[:300]
