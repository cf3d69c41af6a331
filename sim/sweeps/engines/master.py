"""A Spark master as it was named: whether anybody is there, before half a minute is spent on it.

Spark itself waits for a minute, and ends in a page of traces.
"""

from __future__ import annotations

import os
import re
import socket
from typing import NamedTuple

from sim.errors import BadInput

CONNECT_SECONDS = 5.0
"""How long a master may take to accept a connection."""

ALLOWED = "local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"
_CONFIGURATION = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


class Address(NamedTuple):
    """Where a master listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_local(master: str | None) -> bool:
    """Whether its workers are processes of this machine, with this Python."""
    return master is not None and re.match(r"local(\[|$)", master) is not None


def check_master(master: str) -> None:
    """Raises BadInput unless `master` is one that sweeps run on, and answers where it says.

    Of several (spark://HOST:PORT,HOST:PORT) one is enough.
    """
    if is_local(master) or master.startswith("local-cluster["):
        return
    if master.startswith("sc://"):
        raise BadInput(f"--master {master}: Spark Connect is not supported; allowed: {ALLOWED}")
    if master == "yarn":
        if not any(map(os.environ.get, _CONFIGURATION)):
            raise BadInput(
                f"--master yarn: neither {' nor '.join(_CONFIGURATION)} is set; "
                "one names the folder with the cluster's yarn-site.xml"
            )
        return
    if not master.startswith(("spark://", "k8s://")):
        raise BadInput(f"--master {master}: no such kind of master; allowed: {ALLOWED}")
    complaints = [_complaint(address) for address in _addresses(master)]
    if None not in complaints:
        raise BadInput(f"--master {master}: {'; '.join(filter(None, complaints))}")


def _addresses(master: str) -> list[Address]:
    scheme, _, rest = master.partition("://")
    secure = not rest.startswith("http://")
    rest = re.sub(r"^https?://", "", rest)
    port = {"spark": None, "k8s": 443 if secure else 80}[scheme]
    found = []
    for part in rest.rstrip("/").split(","):
        named = re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:/\s\[\]]+)(?::(\d{1,5}))?", part)
        number = port if named is None or named[2] is None else int(named[2])
        if named is None or number is None or not 0 < number < 65_536:
            raise BadInput(f"--master {master}: {part!r} is no HOST:PORT; allowed: {ALLOWED}")
        found.append(Address(named[1].strip("[]"), number))
    return found


def _complaint(address: Address) -> str | None:
    """What is wrong with an address; None = somebody listens there."""
    try:
        socket.create_connection(address, timeout=CONNECT_SECONDS).close()
    except socket.gaierror:
        return f"no machine is called {address.host!r} here"
    except ConnectionRefusedError:
        return f"nobody listens at {address}; is the master running?"
    except TimeoutError:
        return f"no answer from {address} within {CONNECT_SECONDS:g} s"
    except OSError as error:
        return f"{address} cannot be reached: {error.strerror or error}"
    return None
