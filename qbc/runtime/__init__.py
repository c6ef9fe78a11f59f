"""Runs packed programs bit-exactly on the CPU."""

from qbc.runtime.load import LoadedModel, load, open_model
from qbc.runtime.simulator import Observer, Simulator
from qbc.runtime.status import RuntimeStatusError, Status

__all__ = ["LoadedModel", "Observer", "RuntimeStatusError", "Simulator", "Status", "load", "open_model"]
