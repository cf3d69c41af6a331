"""Random scenarios: a seed and a mix give the same scenario on every machine."""

from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.simulate.scenario.generate.scenario import generate
