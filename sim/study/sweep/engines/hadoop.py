"""A sweep's folder on any file system that Spark writes to: hdfs://, s3a://, gs://, abfs://.

Its documents are read and written by the driver's Java, with the classes and the settings that
Spark itself uses (org.apache.hadoop.fs.FileSystem): what a session can read with an address, a
sweep can be written to.
"""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext


class HadoopFolder:
    """A folder by its address (`sim.study.sweep.storage.Folder`). What Java raises goes through."""

    def __init__(self, context: SparkContext, address: str) -> None:
        """Raises Py4JJavaError when Spark knows no such file system, or cannot reach it."""
        self._java: Any = context._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]  # noqa: SLF001
        path = self._java.Path(address)
        self._files: Any = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        self._root = self._files.makeQualified(path)
        self.label = address.rstrip("/")

    def url(self, name: str) -> str:
        """See `Folder`."""
        return f"{self._root.toString()}/{name}"

    def entries(self) -> list[str]:
        """See `Folder`."""
        if not self._files.exists(self._root):
            return []
        if self._files.getFileStatus(self._root).isFile():
            raise NotADirectoryError(errno.ENOTDIR, "is a file", self.label)
        return sorted(str(one.getPath().getName()) for one in self._files.listStatus(self._root))

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        try:
            stream = self._files.open(self._path(name))
        except Py4JJavaError as error:
            if "FileNotFoundException" in str(error.java_exception):
                raise FileNotFoundError(errno.ENOENT, "is not there", self.url(name)) from None
            raise
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`; a document that was cut off is damaged, which `--resume` mends."""
        stream = self._files.create(self._path(name), True)  # noqa: FBT003 - Java's: overwrite
        stream.write(bytearray(content))
        stream.close()

    def remove(self, name: str) -> None:
        """See `Folder`."""
        self._files.delete(self._path(name), True)  # noqa: FBT003 - Java's: with all in it

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """No folder elsewhere is held: let one sweep at a time write there."""
        return nullcontext()

    def _path(self, name: str) -> Any:
        return self._java.Path(self.url(name))
