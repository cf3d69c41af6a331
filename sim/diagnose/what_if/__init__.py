"""What could have been otherwise.

`no_return` finds the event after which a violation could not be avoided any more, in runs with
another future from a moment on (`futures`); `heals` finds the single changes that avoid it, and the
near miss of what was shrunk.
"""
