"""The version of the engine, which every recorded episode carries."""

__version__ = "0.1.0"
