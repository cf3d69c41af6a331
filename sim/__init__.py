"""Replog: a testbed for compacted replicated logs.

A simulated cluster, thousands of random runs, and minimal counterexamples.

For notebooks and scripts this package is the whole interface:

* `load(source)`: a scenario, a story or a timed one, from a file, its text, its data or a seed;
* `run(source, **rules)`: simulates and judges it, perhaps under other rules; a `Run` has tables
  (`events`, `violations`, `replicas`, `records`), `explain()`, `timeline()`, `cause`, `shrink()`,
  `compare()`, `heals()`, `no_return()`, `save()` and `save_trace()`;
* `sweep(plan, ...)`: a plan's random scenarios under each of its rule sets; `open_sweep(folder)`
  reads one that is there; a `Sweep` has `runs`, `violations`, `causes()` and `failures()`, each of
  which is a run again: `failures().where(invariant=..., fix=...).first()`;
* `explore(plan)`: every schedule of a small world; an `Explored` has `table`, `levels`, and
  a shortest schedule for all that breaks: `witness(invariant)`;
* `open_partition(folder)`: a partition of a broker: its `records`, `contents()`, whether a pass is
  `due()`, the `fate(key)` of a record; `open_replicas(folders)` has them `compared`, and
  `load(folders)` is a story that begins with them;
* `plugins`: strategies, fixes and invariants of your own;
* `bounds`: how long a run may take, and how much memory;
* `BadInput`: what is raised, with a line for each mistake, for anything that cannot be used.

    >>> import sim
    >>> story = sim.load('''
    ... format: replog-story/1
    ... replicas: [n1, n2]
    ... steps:
    ...   - elect n1 1
    ...   - append n1 a key
    ...   - elect n2 1
    ... ''')
    >>> sim.run(story)
    Run(story: violated, first: n2 was elected in epoch 1, which n1 led already.)

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.version import __version__

if TYPE_CHECKING:
    from sim import bounds, errors, plugins
    from sim.api.answers import Comparison, Explanation, Shrunk, Timeline
    from sim.api.failures import Failures
    from sim.api.partitions import (
        OpenedPartition,
        OpenedReplicas,
        open_partition,
        open_replicas,
    )
    from sim.api.runs import Run, run
    from sim.api.scenarios import Scenario, load
    from sim.api.sweeps import Explored, Sweep, explore, open_sweep, sweep
    from sim.errors import BadInput

_DEFINED = {
    "api.answers": ("Comparison", "Explanation", "Shrunk", "Timeline"),
    "api.failures": ("Failures",),
    "api.partitions": ("OpenedPartition", "OpenedReplicas", "open_partition", "open_replicas"),
    "api.runs": ("Run", "run"),
    "api.scenarios": ("Scenario", "load"),
    "api.sweeps": ("Explored", "Sweep", "explore", "open_sweep", "sweep"),
    "errors": ("BadInput",),
}
_MODULES = {name: f"sim.{module}" for module, names in _DEFINED.items() for name in names}
"""The module that defines each name."""
__all__ = ["__version__", "bounds", "errors", "plugins"]
__all__ += list(_MODULES)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("bounds", "errors", "plugins"):
        return import_module(f"sim.{name}")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)  # without imports of this module and submodules
