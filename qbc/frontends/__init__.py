"""Source formats: each frontend reads one and makes a module of the framework dialect."""

from qbc.frontends.base import Frontend, ImportRequest

__all__ = ["Frontend", "ImportRequest"]
