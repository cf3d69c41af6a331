"""Which faults are over as soon as they happen; `sim.simulate.faults` registers them."""

from __future__ import annotations

from typing import Final

INSTANT_FAULTS: Final[set[str]] = set()
"""Names of their kinds. No `FaultEnded` follows, so nothing waits for one."""
