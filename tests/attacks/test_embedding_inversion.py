"""A coordinator that is curious sees more than any release shows, unless parties are sealed."""

import dataclasses

import numpy as np
import pytest
import torch

import privee
from privee.attacks import AttackerView, Auxiliary, EmbeddingInversion, WhiteBox, attack, white_box_of
from privee.attacks.embedding_inversion import _kept_out
from privee.attacks.metrics import column_mse, feature_mse, mean_guess, regression_guess
from privee.audit import subject_from_arrays, subject_from_run
from privee.audit.task import simulated
from privee.defenses import defense
from privee.vfl import JointModel, make_models
from privee.vfl.seal import Seal
from tests._support.own_models import columns as own_columns
from tests._support.own_models import numpy_model
from tests._support.reachable import reachable_numbers
from tests._support.sealed_runs import sealed_run

QUICK = {"iterations": 150}


class Parts:
    """Three parties with columns of a common cause, and networks as they were made: nothing need be learned here."""

    def __init__(self, kind: str = "mlp") -> None:
        rng = np.random.default_rng(2)
        cause = rng.random((260, 2))
        sizes = {"active": 3, "shop": 4, "clinic": 2}
        made = cause @ rng.random((2, 9)) / 2 + 0.5 * rng.random((260, 9))
        starts = np.cumsum([0, *sizes.values()])
        self.columns = {name: made[:, a:b] for name, a, b in zip(sizes, starts, starts[1:], strict=False)}
        shapes = {name: x.shape[1:] for name, x in self.columns.items()}
        joint = JointModel(self.columns, np.zeros(260, dtype=int), *make_models(kind, shapes, 5, 0))
        self.bottoms = {party.name: party.learner.model for party in joint.parties}
        self.model = white_box_of(joint)
        self.rows = torch.from_numpy(made)

    def view(self, model: WhiteBox | None = None, order=range(9), spec: str = "none", **more) -> AttackerView:
        model, rows = model or self.model, self.rows[:, list(order)]
        own, unknown = rows[:, : model.own_columns].clone(), rows[:, model.own_columns :].clone()
        with torch.no_grad():
            sent = model.embeddings(own[:60], unknown[:60])
            scores = model.scores(own[:60], unknown[:60]).numpy()
        made = privee.defense(spec)
        release = torch.from_numpy(made.release(scores, draws=privee.seeded(0)))[None]
        known = {"auxiliary": Auxiliary(own[60:].clone(), unknown[60:].clone()), "embeddings": sent} | more
        self.truth = unknown[:60]
        return AttackerView(own[:60].clone(), model, release, made, True, **known)


@pytest.fixture(scope="module")
def parts() -> Parts:
    return Parts()


# --- what is seen ----------------------------------------------------------------------------------------------------


def test_embeddings_are_what_the_other_parties_send(parts):
    sent = parts.view().embeddings
    by_party = [parts.bottoms[name](torch.from_numpy(parts.columns[name][:60]).float()) for name in ("shop", "clinic")]
    np.testing.assert_allclose(sent.numpy(), torch.cat(by_party, dim=1).detach().numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("order", "known", "names"),
    [
        ([*range(3, 9), *range(3)], 6, ("active",)),  # the passive parties ask
        ([*range(3), 7, 8, *range(3, 7)], 5, ("shop",)),  # all others against shop
        ([*range(9)], 5, ("shop", "clinic")),  # shop's columns are known in part
    ],
)
def test_of_other_attackers_it_is_what_the_others_send(parts, order, known, names):
    sent = parts.view(parts.model.rearranged(order, known), order).embeddings
    by_party = [parts.bottoms[name](torch.from_numpy(parts.columns[name][:60]).float()) for name in names]
    np.testing.assert_allclose(sent.numpy(), torch.cat(by_party, dim=1).detach().numpy(), atol=1e-5)


def test_the_columns_themselves_cannot_be_reached(parts):
    view = parts.view()
    numbers = reachable_numbers(view)
    assert np.isin(view.embeddings.numpy(), numbers).all()
    assert not np.isin(parts.truth.numpy(), numbers).any()


def test_only_who_has_the_coordinators_help_sees_any(parts, tmp_path):
    run = sealed_run(tmp_path / "run", None, epochs=1)
    subject = subject_from_run(run)
    assert subject.sample(0, 20, 30).embeddings is None
    helped = subject.with_coordinator()
    sample = helped.sample(0, 20, 30)
    assert sample.embeddings.shape == (20, 64)
    assert helped.name.endswith("with the coordinator")
    assert sample.fingerprint() != subject.sample(0, 20, 30).fingerprint()
    made = defense("none")
    view = sample.view(simulated(sample, made, 0, 1), made, adaptive=True)
    assert EmbeddingInversion().why_not(view) is None
    bare = dataclasses.replace(view, embeddings=None)
    assert EmbeddingInversion().why_not(bare) == "needs the embeddings that a coordinator sees"
    with pytest.raises(privee.SettingError, match="a model without parts"):
        subject_from_arrays(numpy_model, *own_columns()).with_coordinator()


def test_a_sealed_party_sends_a_code_and_no_embedding(tmp_path):
    """Of two passive parties the unsealed one's embedding is seen; where all are sealed there is nothing to invert."""
    mixed = subject_from_run(sealed_run(tmp_path / "mixed", Seal(codes=4), None, epochs=1)).with_coordinator()
    sample = mixed.sample(0, 40, 120)
    assert sample.embeddings.shape[1] == 64
    made = defense("none")
    view = sample.view(simulated(sample, made, 0, 1), made, adaptive=True)
    found = EmbeddingInversion(**QUICK).run(view).unknown
    behind = list(mixed.model.sealed[0].places)
    errors, guess = (column_mse(each, sample.truth) for each in (found, regression_guess(view)))
    sealed = [place - mixed.model.own_columns for place in behind]
    sent = [k for k in range(len(errors)) if k not in sealed]
    assert errors[sent].mean() < 0.5 * guess[sent].mean()
    assert errors[sealed].mean() > 0.4 * guess[sealed].mean()
    alone = mixed.against("passive-1").sample(0, 20, 30)
    assert alone.embeddings is None


# --- the attack ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "spec"), [("learned", "none"), ("descent", "ranking-only"), ("best", "none")])
def test_embeddings_give_the_columns_away_whatever_is_released(parts, form, spec):
    view, chosen = parts.view(spec=spec), EmbeddingInversion(form=form, **QUICK)
    found = chosen.run(view).unknown
    assert feature_mse(found, parts.truth) < 0.2 * feature_mse(regression_guess(view), parts.truth)
    if form == "descent":
        assert torch.equal(found, chosen.run(parts.view(spec="none")).unknown)


def test_a_logistic_partys_embedding_is_as_many_equations_as_classes():
    """Four columns of one party behind five logits, which no level is taken off: solved."""
    logistic = Parts("logistic")
    order = [*range(3), 7, 8, *range(3, 7)]
    view = logistic.view(logistic.model.rearranged(order, 5), order)
    assert feature_mse(EmbeddingInversion().run(view).unknown, logistic.truth) < 1e-4


def test_without_auxiliary_rows_the_network_is_descended(parts):
    view = dataclasses.replace(parts.view(), auxiliary=None)
    found = EmbeddingInversion().run(view).unknown
    assert feature_mse(found, parts.truth) < 0.1 * feature_mse(mean_guess(view), parts.truth)
    assert EmbeddingInversion(form="learned").why_not(view) == "needs auxiliary rows"


@pytest.mark.parametrize("count", [2, 7, 19, 20, 119])
def test_a_few_auxiliary_rows_are_no_obstacle(parts, count):
    """Some are kept out to choose a form and most are learned from; of few none can be spared, and it descends."""
    view = parts.view()
    few = dataclasses.replace(view, auxiliary=view.auxiliary.part(slice(count)))
    found = EmbeddingInversion(**QUICK).run(few).unknown
    assert feature_mse(found, parts.truth) < 0.3 * feature_mse(mean_guess(few), parts.truth)
    descended = EmbeddingInversion(form="descent", **QUICK).run(few).unknown
    assert torch.equal(found, descended) == (count < 20)


def test_one_auxiliary_row_is_too_few(parts):
    view = parts.view()
    one = dataclasses.replace(view, auxiliary=view.auxiliary.part(slice(1)))
    for form in ("best", "learned", "descent"):
        assert EmbeddingInversion(form=form).why_not(one) == "needs 2 auxiliary rows or more, or none"


def test_rows_that_are_kept_out_are_spread_evenly():
    counts = {rows: int(_kept_out(rows).sum()) for rows in (2, 19, 20, 100, 119, 120, 500)}
    assert counts == {2: 0, 19: 0, 20: 5, 100: 25, 119: 29, 120: 30, 500: 60}
    assert _kept_out(500).nonzero().diff(dim=0).unique().tolist() == [8, 9]


def test_embeddings_of_other_records_are_worth_nothing(parts):
    """Dealt out anew, they tell no more than the guess: the attack finds nothing where nothing is."""
    view = parts.view()
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    found = EmbeddingInversion(**QUICK).run(dataclasses.replace(view, embeddings=view.embeddings[order])).unknown
    assert feature_mse(found, parts.truth) > 0.9 * feature_mse(mean_guess(view), parts.truth)


def test_own_columns_can_be_left_out(parts):
    """A coordinator that nobody helps: the same whatever own columns are."""
    view, alone = parts.view(), EmbeddingInversion(own_columns=False, **QUICK)
    found = alone.run(view).unknown
    assert torch.equal(found, alone.run(dataclasses.replace(view, own=1 - view.own)).unknown)
    assert feature_mse(found, parts.truth) < 0.2 * feature_mse(mean_guess(view), parts.truth)


def test_settings_are_checked():
    with pytest.raises(privee.SettingError, match="form must be one of best, learned, descent; got 'luck'"):
        attack("embedding-inversion", form="luck")
