"""Why an invariant was broken: what led to it, what decided, and how little of it was needed."""

from sim.diagnose.explain.telling import Explanation, explanation
