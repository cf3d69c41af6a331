"""Folders of failures: the files with which to study a failure, run it again, and send it on.

`save_failure` writes a folder with the scenario, its trace, pictures, a `README.md` with the unmet
expectations, the sentence, the explanation and the command, and, for programs, `failure.json`.
"""

from sim.diagnose.failures.failure import RunFailure
from sim.diagnose.failures.folder import save_failure
