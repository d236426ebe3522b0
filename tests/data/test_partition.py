"""Every feature has one holder, whatever the numbers of columns and parties, and the shares are always told."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee.data.partition import Part, Partition, split_columns, split_image

FRACTIONS = st.floats(0.01, 0.99)


@st.composite
def column_splits(draw):
    parties = draw(st.integers(2, 30))
    n = draw(st.integers(parties, 120))
    how = draw(st.sampled_from(["contiguous", "random"]))
    settings = {"parties": parties, "adversary_fraction": draw(FRACTIONS), "how": how, "seed": draw(st.integers(0, 99))}
    return n, settings


@st.composite
def grouped_columns(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=4, max_size=20))
    ends = np.cumsum(sizes).tolist()
    return [tuple(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def _all_features(partition):
    return sorted(feature for part in partition.parts for feature in part.features)


@given(column_splits())
def test_every_feature_has_one_holder(split):
    n, settings = split
    partition = split_columns(n, **settings)
    assert _all_features(partition) == list(range(n))
    assert [part.name for part in partition.parts] == ["active"] + [
        f"passive-{k}" for k in range(1, settings["parties"])
    ]
    passive = [len(part.features) for part in partition.parts[1:]]
    assert max(passive) - min(passive) <= 1
    wanted = round(settings["adversary_fraction"] * n)
    assert len(partition.parts[0].features) == min(max(1, wanted), n - settings["parties"] + 1)


@given(column_splits())
def test_shares_add_to_one_and_are_both_told(split):
    n, settings = split
    partition = split_columns(n, **settings)
    assert partition.known_share + partition.unknown_share == pytest.approx(1)
    assert partition.known_share == len(partition.parts[0].features) / n
    known, unknown = re.findall(r"([\d.]+) %", partition.describe())
    assert (float(known), float(unknown)) == pytest.approx(
        (100 * partition.known_share, 100 * partition.unknown_share), abs=0.051
    )


@given(column_splits())
def test_the_seed_fixes_the_partition_and_json_keeps_it(split):
    n, settings = split
    partition = split_columns(n, **settings)
    assert split_columns(n, **settings) == partition
    assert Partition.from_dict(json.loads(json.dumps(partition.as_dict()))) == partition


def test_seeds_differ_and_the_shuffle_is_pinned():
    splits = {split_columns(64, how="random", seed=seed) for seed in range(20)}
    assert len(splits) == 20
    # The draws are AES keystream, so this holds on every machine and NumPy version.
    assert split_columns(12, how="random", seed=7).parts[0].features == (0, 1, 3, 4, 7, 11)
    assert split_columns(64, how="contiguous", seed=1) == split_columns(64, how="contiguous", seed=2)


def test_random_columns_are_dealt_evenly():
    """Over 2,000 seeds each of 8 columns goes to the active party half the time; six sigma is 0.067."""
    counts = np.zeros(8)
    for seed in range(2000):
        counts[list(split_columns(8, how="random", seed=seed).parts[0].features)] += 1
    assert np.abs(counts / 2000 - 0.5).max() < 0.067


@given(grouped_columns(), st.integers(2, 4), FRACTIONS, st.sampled_from(["contiguous", "random"]))
def test_groups_stay_together(groups, parties, fraction, how):
    n = sum(map(len, groups))
    partition = split_columns(n, parties=parties, adversary_fraction=fraction, how=how, groups=groups)
    assert _all_features(partition) == list(range(n))
    for group in groups:
        assert sum(bool(set(group) & set(part.features)) for part in partition.parts) == 1
    held = sum(set(group) <= set(partition.parts[0].features) for group in groups)
    assert held == min(max(1, round(fraction * len(groups))), len(groups) - parties + 1)
    assert partition.known_share == len(partition.parts[0].features) / n


def test_features_keep_their_order():
    assert split_columns(6).parts[1].features == (3, 4, 5)
    parts = split_columns(40, how="random", seed=3, parties=3).parts
    assert all(part.features == tuple(sorted(part.features)) for part in parts)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(8, 33), st.integers(2, 8), st.none() | FRACTIONS)
def test_strips_are_slices_of_the_image(channels, height, width, parties, fraction):
    images = np.random.default_rng(0).random((3, channels, height, width)).astype(np.float32)
    partition = split_image((channels, height, width), parties=parties, adversary_fraction=fraction)
    start = 0
    for part in partition.parts:
        strip = part.take(images)
        assert part.shape == (channels, height, part.shape[2])
        assert strip.dtype == np.float32
        assert strip.flags.c_contiguous
        assert (strip == images[:, :, :, start : start + part.shape[2]]).all()
        start += part.shape[2]
    assert start == width
    if fraction is None:
        assert max(p.shape[2] for p in partition.parts) - min(p.shape[2] for p in partition.parts) <= 1
    assert Partition.from_dict(json.loads(json.dumps(partition.as_dict()))) == partition


def test_halves_and_strips():
    assert [part.shape for part in split_image((1, 28, 28)).parts] == [(1, 28, 14), (1, 28, 14)]
    assert [part.shape for part in split_image((3, 32, 32), parties=3).parts] == [(3, 32, 11), (3, 32, 11), (3, 32, 10)]
    quarter = split_image((3, 32, 32), adversary_fraction=0.25)
    assert [part.shape[2] for part in quarter.parts] == [8, 24]
    assert quarter.known_share == 0.25
    assert len(split_image((1, 28, 28), parties=25).parts) == 25


@given(column_splits(), st.integers(0, 5))
def test_take_puts_every_value_where_it_belongs(split, rows):
    n, settings = split
    x = np.arange(rows * n, dtype=np.float64).reshape(rows, n)
    rebuilt = np.full_like(x, -1)
    for part in split_columns(n, **settings).parts:
        taken = part.take(x)
        assert taken.shape == (rows, *part.shape)
        assert taken.flags.c_contiguous
        rebuilt[:, list(part.features)] = taken
    assert (rebuilt == x).all()


def test_take_flattens_rows_and_copies():
    x = np.arange(24).reshape(2, 3, 4)
    part = Part("active", (0, 5, 11), (3,))
    taken = part.take(x)
    assert taken.tolist() == [[0, 5, 11], [12, 17, 23]]
    taken[:] = -1
    assert x.min() == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: split_columns(3, parties=4), "3 columns are too few for 4 parties: each needs at least one"),
        (lambda: split_columns(8, parties=3, groups=[range(4), range(4, 8)]), "2 columns are too few for 3 parties"),
        (lambda: split_columns(0), "0 columns are too few"),
        (lambda: split_columns(8, parties=1), "two or more parties"),
        (lambda: split_columns(8, adversary_fraction=0), "between 0 and 1, both excluded"),
        (lambda: split_columns(8, adversary_fraction=1), "between 0 and 1, both excluded"),
        (lambda: split_columns(8, adversary_fraction=float("nan")), "between 0 and 1, both excluded"),
        (lambda: split_columns(8, how="sideways"), "'contiguous' or 'random', got 'sideways'"),
        (lambda: split_columns(4, groups=[(0, 1), (1, 2, 3)]), "every one of the 4 features exactly once"),
        (lambda: split_columns(4, groups=[(0, 1), (2,)]), "every one of the 4 features exactly once"),
        (lambda: split_columns(2, groups=[(0, 1), ()]), "group of features is empty"),
        (lambda: split_image((28, 28)), "channels, height and width"),
        (lambda: split_image((1, 0, 28)), "channels, height and width"),
        (lambda: split_image((1, 28, 3), parties=4), "3 columns are too few for 4 parties"),
        (lambda: Part("active", (), (0,)), "holds no features"),
        (lambda: Part("active", (0, 1), (3,)), "2 features, which do not fill"),
        (lambda: Part("active", (0, 1), (-1, -2)), "empty shape"),
        (lambda: Part("active", (-1, 0), (2,)), "negative position"),
        (lambda: Part("active", (0, 9), (2,)).take(np.zeros((2, 9))), "holds feature 9, but rows have 9 features"),
        (lambda: Partition((Part("active", (0, 1), (2,)),), 2), "two or more parties"),
        (lambda: Partition((Part("active", (0,), (1,)), Part("bank", (1,), (1,))), 2), "active, passive-1"),
        (lambda: Partition((Part("active", (0,), (1,)), Part("passive-1", (0,), (1,))), 2), "exactly one party"),
        (lambda: Partition((Part("active", (0,), (1,)), Part("passive-1", (1,), (1,))), 3), "exactly one party"),
        (lambda: Partition((Part("active", (0,), (1,)), Part("passive-1", (2,), (1,))), 2), "exactly one party"),
    ],
)
def test_errors_are_one_clear_line(make, message):
    with pytest.raises(privee.PriveeError, match=re.escape(message)) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "another format than 1"),
        ({"n_features": 5}, "every one of the 5 features"),
        ({"n_features": "4"}, "not a saved partition"),
        ({"n_features": 4.0}, "not a saved partition"),
        ({"parts": None}, "not a saved partition"),
        ({"parts": ["active"]}, "not a saved partition"),
        ({"parts": [{"name": "active", "features": [0.5], "shape": [1]}]}, "not a saved partition"),
        ({"parts": [{"name": "active", "features": [True], "shape": [1]}]}, "not a saved partition"),
        ({"parts": [{"name": "active", "features": [0]}]}, "not a saved partition"),
    ],
)
def test_a_changed_file_is_refused(change, message):
    saved = split_columns(4).as_dict() | change
    with pytest.raises(privee.PriveeError, match=message):
        Partition.from_dict(saved)
    with pytest.raises(privee.PriveeError, match="not a saved partition"):
        Partition.from_dict({})
