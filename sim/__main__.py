"""`python -m sim` is `replog`."""

import os
import sys

# Nothing else is imported yet, pathlib included.
try:
    current = os.getcwd()  # noqa: PTH109
except FileNotFoundError:
    current = ""  # was removed meanwhile: nothing lies there
if current and not sys.flags.safe_path and sys.path[:1] == [current]:
    # Python looks into the current folder first when it runs a module: a file there that is called
    # as a library would be imported in its place. What lies there comes last, or not at all.
    here = sys.path.pop(0)
    if sys.modules["sim"].__path__[0] == os.path.join(here, "sim"):  # noqa: PTH118 - as above
        sys.path.append(here)  # a checkout, which worker processes import from, too

from sim.cli import main

main()
