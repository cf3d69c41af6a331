"""Conformance with the real thing: Apache Kafka's own cleaner answers what Replog must answer.

Nothing else in Replog imports this package; it needs Java, and the network once.
"""
