"""A folder for each failure: what it takes to look at it, to run it again, to send it on.

`save_failure` makes one below a folder of the user's: the scenario, its trace, the sentence, the
explanation, pictures, the command, a `README.md` and, for machines, `failure.json`. `index.html`
beside the folders lists all that are there.
"""

from sim.failures.failure import Failure
from sim.failures.folder import save_failure
