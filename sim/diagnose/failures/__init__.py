"""Folders of failures, with what it takes to look at one, to run it again, to send it on.

`save_failure` makes one below a folder of the user's: what was expected and missed, the scenario,
its trace, the sentence, the explanation, pictures, the command, a `README.md` and, for machines,
`failure.json`; of a log file its answer instead of a trace and pictures. `index.html` beside the
folders lists all that are there; that of a suite counts what the suite counts.
"""

from sim.diagnose.failures.failure import Failure, LogFailure, RunFailure, log_failure
from sim.diagnose.failures.folder import save_failure, write_index
from sim.diagnose.failures.pages import Red
