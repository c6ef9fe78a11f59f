"""Import paths of older scripts: errors, progress and logging."""
