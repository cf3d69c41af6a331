"""Pictures of any run: of a story, a timed run, a row of a sweep, a shrunk witness.

They are made of events and rules alone, never of replicas. `strip` and `svg` need nothing but the
base install.
"""

from sim.draw.strip import strip

__all__ = ["strip"]
