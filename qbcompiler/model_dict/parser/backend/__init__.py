"""Import path of older scripts: helpers of single backends."""
