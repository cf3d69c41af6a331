"""Shrinking: finds the smallest story or scenario that violates the same for the same cause.

One loop shrinks stories by their steps, and scenarios by their parts:

    engine     passes propose smaller values in a fixed order; the first one that still violates
               the target becomes the best
    target     the invariant and the cause that must stay, and the kinds of illegal steps that may
               be taken; runs stories and scenarios alike
    stories    size, edits and passes of stories
    scenarios  size, edits and passes of scenarios

A run in simulated time is converted to a story if one shows the same: `from_run` adds a step for
each event of the run, and shrinking removes the irrelevant ones.

`smallest` combines them for `replog shrink`, `replog causes` and `sim.Run.shrink`; `writing` writes
the files.
"""
