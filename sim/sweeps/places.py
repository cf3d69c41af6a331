"""Where a sweep's folder is: on this machine, or on a file system that Spark writes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.errors import BadInput
from sim.extras import check_extra
from sim.sweeps.storage import Folder, LocalFolder

ONE_CORE = "local[1]"
"""The master of a session that only reads and writes files."""


def place(text: str) -> Path | str:
    """A folder of this machine as a path, one elsewhere (`hdfs://host/sweeps/one`) as its address.

    Raises BadInput for an empty text.
    """
    if not text:
        raise BadInput("'' is no folder; give a path, or an address such as hdfs://host/folder")
    return text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) else Path(text)


def require_here(out: Path | str, *, what: str) -> Path:
    """A folder of this machine. Raises BadInput for an address, which `what` cannot read."""
    if isinstance(out, str):
        raise BadInput(
            f"{out}: {what} reads a folder of this machine; copy it here, as with "
            f"hdfs dfs -get {out} DIR"
        )
    return out


def spark_settings(given: Sequence[str] | None, *, engine: str = "spark") -> dict[str, str]:
    """Spark's settings out of NAME=VALUE each. Raises BadInput for others, and for no Spark."""
    settings = {}
    for word in given or ():
        name, equals, value = word.partition("=")
        if not (equals and name.startswith("spark.")):
            raise BadInput(f"--conf {word}: give NAME=VALUE, with a name of Spark's: spark.…")
        settings[name] = value
    if settings and engine != "spark":
        raise BadInput(f"--conf {next(iter(settings))}: only Spark has settings: --engine spark")
    return settings


@contextmanager
def folder_at(
    out: Path | str, *, master: str | None = ONE_CORE, settings: Mapping[str, str] | None = None
) -> Iterator[Folder]:
    """The files of a folder, wherever it is; for an address in a session of Spark's.

    `master` and `settings` are for `spark_session`. Raises BadInput as that does, and for an
    address that Spark cannot reach.
    """
    if isinstance(out, Path):
        yield LocalFolder(out)
        return
    check_extra("sweeps on Spark need", "sweep", "pyspark")
    from sim.sweeps.engines.hadoop import HadoopFolder
    from sim.sweeps.engines.session import spark_session

    with spark_session(master=master, settings=settings) as session:
        yield HadoopFolder(session.sparkContext, out)
