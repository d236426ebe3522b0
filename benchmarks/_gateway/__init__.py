"""Two trees of this project side by side, each with parties and gateways of its own, asked by turns."""
