"""The first lines that run in a worker of a cluster, before it can import anything of this package.

PySpark pickles the functions of this module whole, not by their names (`by_value`): a worker needs
nothing for them but Python and PySpark itself, which every executor has. They put the archives that
travelled (see `shipping`) first on the path; what they were given is unpickled after that.
"""

from __future__ import annotations

import pickle
import platform
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pyspark import SparkFiles, cloudpickle

Answer = tuple[str, str | None, Any]
"""The machine's name; why it did nothing, or None; what the task returned."""


def by_value(
    archives: Sequence[str], task: Callable[[Any], tuple[str | None, Any]]
) -> Callable[[Any], Answer]:
    """A function for workers: puts `archives` on the path, then runs `task`.

    `archives` are names of what was given to `SparkContext.addArchive`. `task` is pickled here and
    now; where a worker cannot import what it refers to, the answer says so.
    """
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    pickled: bytes = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]
    return on_worker(tuple(archives), platform.machine(), pickled)


def on_worker(archives: tuple[str, ...], machine: str, pickled: bytes) -> Callable[[Any], Answer]:
    """What `by_value` sends; `machine` is the kind of processor that the archives are for."""

    def run(argument: Any) -> Answer:
        name = socket.gethostname()
        here = platform.machine()
        if here != machine:
            return name, f"is {here}, and what it is sent was installed for {machine}", None
        for archive in archives:
            folder = SparkFiles.get(archive)
            if folder not in sys.path:
                sys.path.insert(0, folder)
        try:
            task = pickle.loads(pickled)  # noqa: S301 - what the driver sends
        except ImportError as error:
            return name, f"Python {platform.python_version()} there: {error}", None
        return (name, *task(argument))

    return run
