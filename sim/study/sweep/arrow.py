"""Arrow without pandas, for processes that have no use for data frames."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ImportError(fullname)


def without_pandas() -> None:
    """Arrow finds no pandas when it looks for it, which is at the first list that it is given.

    Importing it takes each process a quarter of a second. Whoever asks Arrow for a data frame later
    still gets one: it looks again then.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
