"""Folders of failures: the files with which to study a failure, run it again, and send it on.

`save_failure` writes a folder with the unmet expectations, the scenario, its trace, the sentence,
the explanation, pictures, the command, a `README.md` and, for programs, `failure.json`.
"""

from sim.diagnose.failures.failure import RunFailure
from sim.diagnose.failures.folder import save_failure
