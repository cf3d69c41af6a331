"""Base of the audits that listen to events: invariants that only Replog itself can break."""

from sim.plugins import Invariant


class Law(Invariant):
    """An invariant that stories are not judged by, unless they name it."""

    in_stories = False
