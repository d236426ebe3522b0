"""What the benchmark of embedding defenses is made of."""
