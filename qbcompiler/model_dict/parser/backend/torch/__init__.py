"""Import path of older scripts: helpers of the PyTorch backend."""
