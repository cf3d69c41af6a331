"""Folders of failures: the files with which to study a failure, run it again, and send it on.

`save_failure` writes a folder with the unmet expectations, the scenario, its trace, the sentence,
the explanation, pictures, the command, a `README.md` and, for programs, `failure.json`. A log file
has its answer instead of a trace and pictures. `index.html` beside the folders lists them all; a
suite's also lists its failures without a folder.
"""

from sim.diagnose.failures.failure import Failure, LogFailure, Red, RunFailure, log_failure
from sim.diagnose.failures.folder import save_failure, write_index
