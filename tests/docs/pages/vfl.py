"""Two parties' columns and networks, and a training of two epochs."""

import numpy as np
import torch

import privee
import privee.vfl
from privee.vfl import ConcatTop, TrainingSettings


def prepare(place):
    torch.manual_seed(0)
    columns, net = np.random.default_rng(0).random((60, 6), np.float32), torch.nn.Linear
    place.names |= {"bank_columns": columns[:, :4], "shop_columns": columns[:, 4:]}
    place.names |= {"net_a": net(4, 3), "net_b": net(2, 3), "top": ConcatTop(net(6, 2))}
    place.names |= {"labels": (columns.sum(1) > 3).astype(np.int64), "defense": privee.LabelOnly()}
    place.names |= {"rows": torch.arange(40), "test_rows": torch.arange(40, 60)}
    place.patch(privee.vfl, "TrainingSettings", lambda epochs: TrainingSettings(epochs=min(epochs, 2)))
