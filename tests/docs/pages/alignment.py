"""Two lists of ids, and columns in their order."""

import numpy as np

NEEDS = ("private_set_intersection",)


def prepare(place):
    bank, shop = [f"c{k}" for k in range(30)], [f"c{k}" for k in range(40, 10, -1)]
    place.names |= {"bank_ids": bank, "shop_ids": shop}
    place.names |= {"bank_columns": np.arange(30.0), "shop_columns": np.arange(30.0)}
