"""A small joint model, what one knows who asks, and attacks of a few steps."""

import dataclasses

import numpy as np
import torch

import privee
import privee.attacks
from privee.attacks import Auxiliary, GradientInversion, PriorInformed
from privee.vfl import ConcatTop, JointModel, TrainingSettings, train


def prepare(place):
    torch.manual_seed(0)
    columns, net = np.random.default_rng(0).random((60, 6), np.float32), torch.nn.Linear
    own, unknown, labels = columns[:, :4], columns[:, 4:], (columns.sum(1) > 3).astype(np.int64)
    joint = JointModel({"a": own, "b": unknown}, labels, {"a": net(4, 3), "b": net(2, 3)}, ConcatTop(net(6, 2)))
    train(joint.coordinator, joint.learners, torch.arange(40), TrainingSettings(epochs=2))
    defense = privee.defense("privee-u:rho=0.1")
    releases = torch.as_tensor(defense.release(joint.scores(torch.arange(40, 60))), dtype=torch.float64)[None]
    known, unknown = torch.from_numpy(own).double(), torch.from_numpy(unknown).double()
    rows = Auxiliary(known[:40], unknown[:40])
    place.names |= {"joint": joint, "own": known[40:], "releases": releases, "defense": defense, "rows": rows}
    for attack in (PriorInformed, GradientInversion):
        place.patch(privee.attacks, attack.__name__, lambda cls=attack: dataclasses.replace(cls(), iterations=5))
