"""Shrinking: what violates an invariant is made as small as it can be, the cause being the same.

A candidate is a story with its steps, or a scenario with its parts. There is one loop for both:

    engine     passes propose smaller values in a fixed order; the first one that still shows the
               target is the best from then on; one memo, one budget, one place to go on from
    target     what has to stay: invariant and cause; runs stories and scenarios alike
    stories    what is small of a story, edits that keep it sound, and the passes
    scenarios  the same of scenarios

A run in simulated time is converted to a story where one shows the same:

    from_run   takes the events of the run one by one, and the steps that do the same; what does
               not matter is left out by shrinking the story
    illegal    steps that no cluster does: a story has none of a kind that its run has not

`smallest` combines them for `replog shrink`, `replog causes` and `sim.Run.shrink`; `writing` writes
the files.
"""
