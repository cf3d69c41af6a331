"""The version of this package, where everything may ask for it without importing the package."""

__version__ = "0.1.0"
