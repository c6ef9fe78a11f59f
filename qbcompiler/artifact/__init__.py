"""Import paths of older scripts: reading of `.mblt` files."""
