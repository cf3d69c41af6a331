"""Numbers and names of a scenario with their bounds; a file is checked against these."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, Lt, MinLen

Milliseconds = Annotated[int, Ge(0)]
Period = Annotated[int, Ge(1)]
"""A time in ms between repetitions; 0 would repeat for ever at one instant."""
Count = Annotated[int, Ge(0)]
Name = Annotated[str, MinLen(1)]
Share = Annotated[float, Ge(0), Le(1)]
Loss = Annotated[float, Ge(0), Lt(1)]
"""Probability that a message is lost; a link that loses everything is a partition."""
