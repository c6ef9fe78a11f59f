"""Import paths of older scripts: graphs of `.mblt` files as Python objects, and parsing to them."""
