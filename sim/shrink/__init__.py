"""Shrinking: what breaks a law is made as small as it can be, the cause being the same."""
