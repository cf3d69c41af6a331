"""What every test shares: the Hypothesis profiles, and that the longest tests start first.

`dev` searches anew each time and remembers what failed; `ci`, chosen by the environment variable
CI, searches the same examples on every machine. Neither has a deadline: being slow is no defect.
"""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background deaf to Ctrl-C, which some tests are about.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["pytester"]  # runs pytest on small folders, to test what we add to it

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What collecting makes stays to the end: no garbage is looked for in it, then or later."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark and on worker processes come first.

    They wait more than they compute, share one Spark session, and would be the end of the run that
    everybody waits for; `--dist worksteal` gives the rest to whoever is free. A cluster waits most.
    """
    items.sort(
        key=lambda item: (
            item.path.stem != "test_cluster",
            "spark" not in getattr(item, "fixturenames", ()) and item.path.stem != "test_engines",
        )
    )
