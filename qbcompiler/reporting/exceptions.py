"""The errors of the package."""

from qbc.errors import ArgumentError, ConfigError, QBCompilerError

__all__ = ["ArgumentError", "ConfigError", "QBCompilerError"]
