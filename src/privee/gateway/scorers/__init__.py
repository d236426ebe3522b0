"""A model that stands alone in front of which the gateway is: what makes scores of rows, and where rows come from."""
