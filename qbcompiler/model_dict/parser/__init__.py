"""Import paths of older scripts: the parser, and parts of frontends that this version does not have."""
