"""Changes and futures of a run that avoid its violation.

`no_return` finds the event after which a violation could not be avoided any more, by runs with
another future from a moment on; `heals` finds the single changes that avoid it, and the
near miss of a shrunk failure.
"""
