"""Making the named tuples of which a run makes many thousands.

The constructor that `NamedTuple` gives a class is a Python function, also where all else is
compiled: of a compiled run it took an eighth.
"""

from __future__ import annotations

from typing import Final

make: Final = tuple.__new__
"""`make(Copied, (replica, source, …))` is `Copied(replica, source, …)`: all fields, in order.

Nobody looks whether there are as many as the class has: tests/log/test_named_tuples.py does.
"""
