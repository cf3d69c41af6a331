"""Snapshots of a compacted log: taking, fetching and deleting them (KIP-630)."""
