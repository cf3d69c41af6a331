"""Pictures of a run: of a story, a timed scenario, a row of a sweep, a smallest example.

They are made of events and rules alone, never of replicas. `strip`, `svg` and `figure_html` need
only the base install.
"""

from sim.diagnose.draw.figure import figure_html, png, svg
from sim.diagnose.draw.page import html
from sim.diagnose.draw.scene import DrawnCase
from sim.diagnose.draw.strip import strip
