"""The steps of stories by subject; a step is described where it is carried out."""

from importlib import import_module

from sim.simulate.story.op import OPS

for _subject in (
    "leading",
    "following",
    "compacting",
    "faults",
    "observing",
):
    import_module(f"{__name__}.{_subject}")  # each op of it adds itself to OPS
