"""Audits: what can be wrong in runs only if Replog itself is wrong.

They are a plugin as anybody's: invariants, and an observer that sees messages and replicas.
`--plugin tests.audits.plugin` registers all of them, and
`tests.audits.registering.audited()` does so for a while.
"""
