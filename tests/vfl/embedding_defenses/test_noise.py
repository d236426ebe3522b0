"""MID's noise at prediction: a record's own, the same whenever it is asked about, and a secret of the party's."""

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job
from scipy.stats import kstest

from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.errors import PriveeError
from privee.party.party_model import NoisyPartyModel, PartyModel
from privee.vfl import JointModel, make_models
from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.embedding_defenses.noise import NOISE_KEY, NoisyParty, NoisyRecords, record_noise
from privee.vfl.experiment import open_run, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.run_format import PartyDescription
from privee.vfl.training import TrainingSettings

KEY, OTHER = b"k" * 32, b"o" * 32
COLUMNS = np.random.default_rng(0).random((300, 5)).astype(np.float32)
IDS = [f"c{k}" for k in range(300)]


def noisy(secret: bytes | None, rows: int = 300) -> JointModel:
    shapes = {"bank": (2,), "shop": (5,)}
    bottoms, top = make_models("mlp", shapes, 3, 1, defenses={"shop": embedding_defense("mid")})
    columns = {"bank": COLUMNS[:rows, :2], "shop": COLUMNS[:rows]}
    known = NoisyRecords(secret, IDS[:rows])
    return JointModel(columns, np.zeros(rows, dtype=np.int64), bottoms, top, noisy={"shop": known})


def sent(joint: JointModel, rows=None) -> torch.Tensor:
    return joint.parties[1]._embed(torch.arange(joint.rows) if rows is None else torch.tensor(rows), train=False)


def test_it_is_normal_and_records_have_nothing_in_common():
    """19,200 draws by a fixed secret; a true sample fails each test once in a million."""
    drawn = record_noise(KEY, IDS, COLUMNS, 64).numpy()
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-6
    between = np.corrcoef(drawn)[np.triu_indices(300, 1)]
    assert abs(between.mean()) < 4.9 / np.sqrt(64 * len(between))
    assert np.abs(between).max() < 0.75  # 44,850 pairs of 64 draws


def test_the_same_record_gets_the_same_noise_and_any_other_another():
    first = record_noise(KEY, IDS[:1], COLUMNS[:1], 8)
    assert torch.equal(first, record_noise(KEY, IDS[:1], COLUMNS[:1].copy(), 8))
    moved = COLUMNS[:1] + np.float32([[0, 0, 1e-6, 0, 0]])
    for other in (
        record_noise(OTHER, IDS[:1], COLUMNS[:1], 8),
        record_noise(KEY, IDS[1:2], COLUMNS[:1], 8),
        record_noise(KEY, IDS[:1], moved, 8),  # one draw for two versions would show how they differ
    ):
        assert (first - other).abs().max() > 0.1
    assert torch.equal(
        record_noise(KEY, ["c"], np.float32([[-0.0]]), 4), record_noise(KEY, ["c"], np.float32([[0]]), 4)
    )
    # An id and its columns do not run into each other.
    assert not torch.equal(record_noise(KEY, ["a"], COLUMNS[:1], 4), record_noise(KEY, ["aa"], COLUMNS[:1], 4))


def test_asking_again_does_not_take_it_off():
    joint = noisy(KEY)
    answers = torch.stack([sent(joint, [5, k])[0] for k in range(40)])
    assert all(torch.equal(answers[0], one) for one in answers)
    shop = joint.parties[1]
    mean, deviation = shop._bottom.spread(shop._bottom.bottom(shop._features[5:6]))
    assert ((answers.mean(dim=0) - mean) / deviation).abs().mean() > 0.4  # of 64 normal draws: 0.8 on average


def test_another_secret_is_other_noise_and_none_given_is_a_fresh_one():
    assert torch.equal(sent(noisy(KEY)), sent(noisy(KEY)))
    assert (sent(noisy(KEY)) - sent(noisy(OTHER))).abs().max() > 0.1
    assert (sent(noisy(None)) - sent(noisy(None))).abs().max() > 0.1


def test_scores_carry_it():
    assert np.abs(noisy(KEY).scores() - noisy(OTHER).scores()).max() > 0.01
    assert np.array_equal(noisy(KEY).scores(), noisy(KEY).scores())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noisy") / "run"
    data = from_dataset(load_dataset("digits"), Partition.from_dict(dict(digits_job("mlp", 2).source["partition"])))
    defenses = {"passive-1": embedding_defense("mid:weight=0.01")}
    train_run(folder, data, "mlp", TrainingSettings(epochs=2), embedding_defenses=defenses)
    return folder


def test_the_secret_is_for_its_owner_alone(run):
    key = run / "parties" / "passive-1" / NOISE_KEY
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32
    assert not (run / "parties" / "active" / NOISE_KEY).exists()


def test_a_served_party_sends_what_it_sends_here(run):
    joint, data = open_run(run)
    party = joint.parties[1]
    assert isinstance(party, NoisyParty)
    folder = run / "parties" / "passive-1"
    served = PartyModel.load(folder, PartyDescription.read(folder))
    assert isinstance(served, NoisyPartyModel)
    assert served.width == 64
    rows = data.test[:50]
    columns, ids = data.columns["passive-1"][rows].astype(np.float32), [str(row) for row in rows]
    here, there = sent(joint, rows.tolist()).numpy(), served.embed(columns, ids)
    assert np.abs(here - there).max() < 1e-4
    # In any company the same, bit by bit, so that draws keyed by scores and the party's own ledger know it again.
    assert np.array_equal(there[7:8], served.embed(columns[7:8], ids[7:8]))
    assert np.array_equal(there[::-1], served.embed(columns[::-1], ids[::-1]))
    mean = served._model(torch.from_numpy(columns)).detach().numpy()
    assert np.abs(there - mean).max() > 0.5


def test_without_its_secret_a_run_is_refused(run, tmp_path):
    key = run / "parties" / "passive-1" / NOISE_KEY
    kept = key.read_bytes()
    try:
        key.unlink()
        with pytest.raises(PriveeError, match=r"noise.key is missing: without it other noise would be drawn"):
            open_run(run)
        folder = run / "parties" / "passive-1"
        with pytest.raises(PriveeError, match=r"noise\.key is missing"):
            PartyModel.load(folder, PartyDescription.read(folder))
    finally:
        key.write_bytes(kept)
