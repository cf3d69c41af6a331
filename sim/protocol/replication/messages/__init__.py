"""What replicas, clients and the controller say to each other, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. Whoever gets one knows
no more of its sender than it says.
"""

from sim.protocol.replication.messages.consume import *
from sim.protocol.replication.messages.controller import *
from sim.protocol.replication.messages.errors import *
from sim.protocol.replication.messages.fetch import *
from sim.protocol.replication.messages.produce import *
from sim.protocol.replication.messages.quorum import *
from sim.protocol.replication.messages.removal import *
