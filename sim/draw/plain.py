"""matplotlib without anybody's `matplotlibrc`: the same numbers make the same picture everywhere.

It reads that file from the current folder when it is imported, so one in a folder of somebody else
would count, and such settings reach far: `text.usetex` runs TeX on every text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any


def import_matplotlib() -> None:
    """Import it out of an empty folder; to be called before anything imports it.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    if sys.modules.get("matplotlib") is None:
        with TemporaryDirectory() as empty, _current_folder(empty):
            import_module("matplotlib")


@contextmanager
def _current_folder(folder: str) -> Iterator[None]:
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)  # works for one that was removed, too
    os.chdir(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            os.fchdir(here)
        os.close(here)


@contextmanager
def plain_style(changes: Mapping[Any, Any]) -> Iterator[None]:
    """Matplotlib's own settings with these changes; those of the user are back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(changes)
        yield
