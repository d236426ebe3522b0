"""Two parties' columns and networks."""

import torch

import privee
import privee.vfl
from privee.vfl import ConcatTop, TrainingSettings



def prepare(place):
    torch.manual_seed(0)
    columns = torch.rand(60, 6)
    net = torch.nn.Linear
    place.names |= {"bank_columns": columns[:, :4], "shop_columns": columns[:, 4:], "net_a": net(4, 3), "net_b": net(2, 3)}
    place.names |= {"labels": (columns.sum(1) > 3).long(), "top": ConcatTop(net(6, 2)), "defense": privee.LabelOnly()}
    place.names |= {"rows": torch.arange(40), "test_rows": torch.arange(40, 60)}
    place.patch(privee.vfl, "TrainingSettings", lambda epochs: TrainingSettings(epochs=min(epochs, 2)))
