"""`python -m sim` is `replog`."""

from sim.cli import main

main()
