"""Training across organisations: the same roles and messages, each party on its own machine, over NVIDIA FLARE."""

from privee.extras import require

require("privee.federation", "torch", "safetensors", "nvflare", "psutil", extra="federation")
