"""The messages between replicas, clients and the controller, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. A receiver
knows no more of its sender than the message says.
"""

from sim.protocol.replication.messages.clients import *
from sim.protocol.replication.messages.control import *
from sim.protocol.replication.messages.fetch import *
