"""Pictures of any run: of a story, a timed run, a row of a sweep, a shrunk witness.

They are made of events and rules alone, never of replicas. `strip`, `svg` and `figure_html` need
nothing but the base install.
"""

from sim.draw.figure import figure_html, png, svg
from sim.draw.page import html
from sim.draw.scene import Case
from sim.draw.strip import strip
