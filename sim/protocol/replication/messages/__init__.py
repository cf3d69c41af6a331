"""What replicas, clients and the controller say to each other, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. Whoever gets one knows
no more of its sender than it says.
"""

from sim.protocol.replication.messages.clients import *
from sim.protocol.replication.messages.control import *
from sim.protocol.replication.messages.fetch import *
