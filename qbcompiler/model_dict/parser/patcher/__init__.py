"""Import path of older scripts: parts of models."""
