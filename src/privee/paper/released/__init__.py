"""The pipeline profile `as_released`: what the released code does, part by part, each to be switched on alone."""
