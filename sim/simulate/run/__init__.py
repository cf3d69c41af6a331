"""One run of a story or a timed scenario: how it is made, what came out of it, its trace file."""

from sim.simulate.run.value import Run, conclusive, run_of
