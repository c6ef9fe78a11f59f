"""The errors of the package."""

from qbc.errors import ArgumentError, QBCompilerError

__all__ = ["ArgumentError", "QBCompilerError"]
