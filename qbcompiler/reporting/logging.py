"""The level of the log `qbcompiler`."""

from qbcompiler.tools import set_log_level

__all__ = ["set_log_level"]
