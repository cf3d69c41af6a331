"""Gates: what a sweep has to fulfil, so that a build can fail by it.

A sweep counts violations, and none of them is a failure by itself: some rule sets are there to show
them. A gate says which rate is too much, and is judged by what the runs can tell:

* `fail_on`: no run violates this. One run that does is enough.
* `budgets`: no more than this share of runs violates this. A gate fails when the runs show that the
  rate is above (an exact binomial test), passes when they show that it is not (the upper limit of
  its exact interval), and is undecided with too few runs for either.

The test is one-sided and exact. Budgets are corrected for being asked many times (Holm 1979): the
chance that a sound sweep fails any of them is at most 5 %. Each environment is judged by itself,
since its cases are drawn again in the others.
"""

from __future__ import annotations

from sim.files.extras import check_extra

check_extra("gates need", "report", "numpy", "scipy", "pyarrow")

from sim.study.gates.judge import Verdict, judge
from sim.study.gates.wanted import Budget, Gates, budget_in, names_in
