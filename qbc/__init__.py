"""The compiler behind `qbcompiler`: dialects, passes, pipelines and the simulator runtime."""

__version__ = "0.1.0"
