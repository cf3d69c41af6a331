"""What could have been otherwise: when a violation was sealed, and which one change avoids it.

`sim.diagnose.what_if.no_return.point_of_no_return` and `sim.diagnose.what_if.heals` (`heals`).
"""
