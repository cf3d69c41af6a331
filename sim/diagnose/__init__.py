"""Diagnosis of one run: why it failed, what avoids it, its smallest example, its picture."""
