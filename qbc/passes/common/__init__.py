"""Passes over all dialects."""
