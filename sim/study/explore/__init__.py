"""Every schedule of a small world: what breaks, in how few steps, or that nothing does.

A plan says how many replicas there are, what may be written, and how often a replica may be
elected, go down, leave the in-sync set; every schedule of such moves is followed, breadth first.
"""

from types import FunctionType

from sim.errors import BadInput
from sim.files.extras import check_extra
from sim.protocol.replication import Replica


def check_installation() -> None:
    """Raises BadInput without numpy, or where replicas are compiled: what they read is not seen."""
    check_extra("a search needs", "report", "numpy")
    if not isinstance(Replica.__init__, FunctionType):
        raise BadInput("a search needs an installation that is not compiled: pip install .")
