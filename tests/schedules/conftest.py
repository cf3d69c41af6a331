"""The Spark session of the tests of sweeps."""

from tests.sweeps.conftest import spark

__all__ = ["spark"]
