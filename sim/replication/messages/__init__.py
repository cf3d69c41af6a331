"""What replicas, clients and the controller say to each other, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. Whoever gets one knows
no more of its sender than it says.
"""

from sim.replication.messages.consume import *
from sim.replication.messages.controller import *
from sim.replication.messages.errors import *
from sim.replication.messages.fetch import *
from sim.replication.messages.produce import *
from sim.replication.messages.quorum import *
from sim.replication.messages.removal import *
