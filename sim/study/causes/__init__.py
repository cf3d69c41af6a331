"""Causes of failing runs of a sweep, each with its share of runs and its smallest witness.

`causes_of` reads a folder; `add_witnesses` shrinks one run per cause; `Cause.story` is the story of
the track record that shows the same.
"""

from sim.study.causes.grouping import NOT_KNOWN, Cause, Causes, causes_of, played
from sim.study.causes.witnesses import add_witnesses
