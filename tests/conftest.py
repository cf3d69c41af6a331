"""What every test shares: the Hypothesis profiles.

`dev` searches anew each time and remembers what failed; `ci`, chosen by the environment variable
CI, searches the same examples on every machine. Neither has a deadline: being slow is no defect.
"""

import os

from hypothesis import settings

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
