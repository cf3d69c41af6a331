"""Random scenarios: one seed and a mix give one scenario, the same everywhere."""

from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.simulate.scenario.generate.scenario import generate
