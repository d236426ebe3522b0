"""A small joint model, what one knows who asks, and attacks of a few steps."""

import dataclasses

import torch

import privee
import privee.attacks
from privee.attacks import Auxiliary, GradientInversion, PriorInformed
from privee.vfl import ConcatTop, JointModel, TrainingSettings, train


def prepare(place):
    torch.manual_seed(0)
    columns, net = torch.rand(60, 6), torch.nn.Linear
    own, unknown, labels = columns[:, :4], columns[:, 4:], (columns.sum(1) > 3).long()
    joint = JointModel({"a": own, "b": unknown}, labels, {"a": net(4, 3), "b": net(2, 3)}, ConcatTop(net(6, 2)))
    train(joint.coordinator, joint.learners, torch.arange(40), TrainingSettings(epochs=2))
    defense = privee.defense("privee-u:rho=0.1")
    releases = torch.as_tensor(defense.release(joint.scores(torch.arange(40, 60))), dtype=torch.float64)[None]
    rows = Auxiliary(own[:40].double(), unknown[:40].double())
    place.names |= {"joint": joint, "own": own[40:].double(), "releases": releases, "defense": defense, "rows": rows}
    for attack in (PriorInformed, GradientInversion):
        place.patch(privee.attacks, attack.__name__, lambda cls=attack: dataclasses.replace(cls(), iterations=5))
