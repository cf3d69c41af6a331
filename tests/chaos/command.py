"""`replog`, but waves come into place ten times as often: a short sweep has several of them."""

import runpy

from sim.sweeps import waves

if __name__ == "__main__":
    waves.WAVE_SECONDS = 0.5
    runpy.run_module("sim", run_name="__main__", alter_sys=True)
