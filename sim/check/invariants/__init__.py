"""The invariants, a family a module; `sim.check.registry` finds every module of this package."""
