"""A run of a story or a timed scenario: how it is made, its value, its trace file."""

from sim.simulate.run.value import Run, conclusive, run_of
