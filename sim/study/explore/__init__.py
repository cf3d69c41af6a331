"""Every schedule of a small world: what breaks, in how few steps, or that nothing does.

A plan says how many replicas there are, what may be written, and how often a replica may be
elected, go down, leave the in-sync set; every schedule of such moves is followed, breadth first.
"""

from sim.files.shipped import check_extra

check_extra("a search needs", "report", "numpy")
