"""Canonicalization patterns, one module a dialect: `patterns(ctx)` returns them."""
