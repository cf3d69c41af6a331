"""The replication protocol: replica state and its transitions, which callers order in time.

A transition is a function of state and input; it returns what happened (events) and what to send
(messages). Pure: the standard library and msgspec, no clock, no randomness, no input or output.
"""

from sim.protocol.replication.replica import Replica
