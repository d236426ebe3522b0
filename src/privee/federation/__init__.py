"""Training across organisations: the same roles and messages, each party on its own machine, over NVIDIA FLARE."""
