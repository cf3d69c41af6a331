"""Why an invariant was broken: what led to it, what decided, and how little of it was needed."""

from sim.explain.case import Fact
from sim.explain.telling import Explanation, explanation

__all__ = ["Explanation", "Fact", "explain", "explanation"]
