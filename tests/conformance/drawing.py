"""What the strategies of random log files have in common."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

Drawn = TypeVar("Drawn")


def once_in(
    times: int, rare: st.SearchStrategy[Drawn], usual: st.SearchStrategy[Drawn]
) -> st.SearchStrategy[Drawn]:
    """Draws from `rare` about once in so many times; `one_of` knows no weights."""
    return st.integers(1, times).flatmap(lambda time: rare if time == times else usual)
