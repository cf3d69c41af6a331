"""Phase diagrams: how likely a failure is over the two or three quantities that decide it.

A rate of a sweep is the rate of its mix of environments. Here everything else is held still, and
one quantity after the other is varied. Each question is a module with a `QUESTION`.
"""

from __future__ import annotations

from sim.studies.phases import compaction_lag, deleted_key, late_write, offset_reuse
from sim.studies.phases.question import Question

QUESTIONS: dict[str, Question] = {
    module.QUESTION.name: module.QUESTION
    for module in (deleted_key, late_write, offset_reuse, compaction_lag)
}
"""By name, in the order of the page."""
