"""Audits made by hand, as varied as real ones: for tests of what is written about them."""

import numpy as np
from sklearn.datasets import load_digits

from privee.audit.grades import grade_of
from privee.audit.results import Audit, Best, Card, Curve, Estimate, Finding, Handout, Picture, SubjectInfo
from tests._support import made_columns

INTERVAL = "each score is only known to lie in an interval; infinitely many score vectors fit one release"
ROUNDED = "score vectors that round to the same digits give the same release"
DEFENSES = {  # share of the guess's error left, naive error, mean L1 moved, ranking kept, class kept, proven
    "none": (0.0, 0.0, 0.0, 1.0, 1.0, "none"),
    "privee-u:rho=0.1": (0.044, 0.31, 5.1, 1.0, 1.0, INTERVAL),
    "privee-u:rho=0.3": (0.041, 0.24, 1.7, 1.0, 1.0, INTERVAL),
    "privee-u+:rho_low=0.1,rho_high=0.9": (0.052, 0.28, 3.9, 1.0, 1.0, INTERVAL),
    "temperature:temperature=2.0": (0.0, 0.052, 0.44, 1.0, 1.0, "none"),
    "top-k": (0.38, 0.046, 0.011, 0.02, 1.0, "the release depends on the 5 leading classes alone"),
    "rounding:digits=2": (0.886, 0.37, 0.018, 0.13, 0.99996, ROUNDED),
    "rounding:digits=3": (0.58, 0.22, 0.0019, 0.44, 1.0, ROUNDED),
    "gaussian:epsilon=0.5": (0.973, 0.41, 7.6, 0.0004, 0.31, "(0.5, 1e-05)-differential privacy per release"),
    "gaussian:epsilon=1": (0.71, 0.33, 0.48, 0.07, 0.91, "(1, 1e-05)-differential privacy per release"),
    "ranking-only": (0.854, 0.39, 0.61, 1.0, 1.0, "the release depends on the ranking alone"),
    "label-only": (1.0, 0.41, 0.12, 0.0, 1.0, "the release depends on the predicted class alone"),
}
ATTACKS = (
    "equation-solving",
    "gradient-inversion:loss=probability",
    "grna-paper",
    "learned-inversion",
    "prior-informed",
    "repeated-query:inner=prior-informed",
)
GUESSES = {"uniform guess": 0.171, "mean guess": 0.053, "regression guess": 0.0158}
SEEDS = (0, 1, 2)


def make_audit(
    *, subjects: int = 2, seeds: tuple[int, ...] = SEEDS, pictures: bool = True, curves: bool = True
) -> Audit:
    """Subjects differ in model, adversary fraction, pictures (digits, colour, none) and defenses tried.

    The first knows its columns and no labels, the second neither (as older audits), the third both.
    """
    infos = [_digits(pictures), _colour(pictures), _table()][:subjects]
    tried = [list(DEFENSES), ["none", "privee-u:rho=0.1", "ranking-only", "label-only"], list(DEFENSES)]
    return _made(infos, tried, seeds, curves)


def make_loans(*, seeds: tuple[int, ...] = SEEDS) -> Audit:
    """The third one by itself: named columns of two parties, labels, two classes."""
    return _made([_table()], [list(DEFENSES)], seeds, False)


def _made(infos: list[SubjectInfo], tried: list[list[str]], seeds: tuple[int, ...], curves: bool) -> Audit:
    findings: list[Finding] = []
    cards: list[Card] = []
    handouts: list[Handout] = []
    for info, defenses in zip(infos, tried, strict=False):
        findings += _guesses(info, seeds)
        for spec in defenses:
            findings += _attacks(info, spec, seeds)
            handouts += [_handout(info, spec, seed) for seed in seeds]
            cards.append(make_card(info, spec, seeds=len(seeds)))
    return Audit(
        about={
            "date": "2025-03-14",
            "versions": {"privee": "0.4.0", "python": "3.11.2", "torch": "2.13.0"},
            "seeds": list(seeds),
            "seconds": 812.3456,
            "grid": {
                "defenses": list(DEFENSES),
                "attacks": list(ATTACKS),
                "records": 200,
                "queries": 1,
                "settings": {"a": [1, 2]},
            },
        },
        subjects=tuple(infos),
        findings=tuple(findings),
        handouts=tuple(handouts),
        cards=tuple(cards),
        curves=tuple(_curve(rho) for rho in (0.1, 0.3, 0.5, 0.7)) if curves else (),
    )


def make_card(info: SubjectInfo, spec: str, *, seeds: int = 3) -> Card:
    left, naive, moved, ranking, label, proven = DEFENSES[spec]
    guess = Best(attack="regression guess", attacker="guess", error=_estimate(GUESSES["regression guess"], seeds))
    adaptive = Best(
        attack="prior-informed",
        attacker="adaptive",
        error=_estimate(max(left * 1.0, 0.00002) * guess.error.mean, seeds),
    )
    headline = min(adaptive, guess, key=lambda best: best.error.mean)
    columns = made_columns.exposures(info.columns, left)
    return Card(
        subject=info.name,
        defense=spec,
        guarantee=proven,
        not_covered=("the ranking itself",),
        naive=Best(attack="equation-solving", attacker="naive", error=_estimate(naive or 0.00001, seeds)),
        adaptive=adaptive,
        guess=guess,
        mean_guess=_estimate(GUESSES["mean guess"], seeds),
        headline=headline,
        guess_normalised=headline.error.mean / guess.error.mean,
        attainable_protection=None if info.picture is None else min(1.4, left / 0.854),
        ranking_kept=ranking,
        label_kept=label,
        mean_l1_moved=moved,
        top_score_error=moved / 2,
        accuracy=0.9561 * label if info.accuracy is not None else None,
        failed=() if naive < 0.053 else ("gradient-inversion:loss=probability (naive)", "grna-paper (naive)"),
        skipped={"repeated-query:inner=prior-informed (naive)": "needs 2 queries of each record, there is 1"},
        grade=columns[0].grade if columns else grade_of(left),
        mean_grade=grade_of(left),
        columns=columns,
        people=made_columns.people(left) if columns else None,
        utility=None if info.utility is None else made_columns.utility(spec),
        order_between=0.1 if info.classes == 2 and label < 0.95 else ranking if info.classes > 2 else 0.9,
        verdict=f"Verdict on {spec}: an attacker who knows this defense recovers the private columns to within "
        f"{100 * headline.error.mean**0.5:.1f} % of their range (root mean square, prior-informed); without the "
        f"release, a guess comes to within 12.6 %.",
    )


def _estimate(mean: float, seeds: int) -> Estimate:
    if seeds == 1:
        return Estimate(mean=mean)
    return Estimate(mean=mean, low=0.9 * mean, high=1.1 * mean, seeds=seeds)


def _digits(pictures: bool) -> SubjectInfo:
    images = load_digits().data[10:16] / 16.0
    unknown = tuple(range(24, 40))
    picture = Picture(shape=(1, 8, 8), unknown=unknown, truth=tuple(map(tuple, images.tolist())))
    return SubjectInfo(
        name="digits, logistic",
        model="logistic",
        known_columns=48,
        unknown_columns=16,
        classes=10,
        records=200,
        auxiliary_rows=500,
        accuracy=0.9561,
        parties=("active", "passive"),
        columns=made_columns.pixels(16),
        column_records=1000,
        column_auxiliary_rows=500,
        fingerprints={"data": "4be1" * 16, "model": "77c0" * 16},
        picture=picture if pictures else None,
    )


def _colour(pictures: bool) -> SubjectInfo:
    y, x = np.mgrid[0:16, 0:16] / 15.0
    images = np.array([np.stack([x * (k + 1) / 4, (x - y) ** 2, np.sin(3 * y + k) ** 2]) for k in range(4)])
    unknown = [c * 256 + row * 16 + column for c in range(3) for row in range(16) for column in range(8, 16)]
    picture = Picture(
        shape=(3, 16, 16), unknown=tuple(unknown), truth=tuple(map(tuple, images.reshape(4, -1).round(4).tolist()))
    )
    return SubjectInfo(
        name="colour patches, convolutional, 384 of 768 columns known",
        model="convolutional",
        known_columns=384,
        unknown_columns=384,
        classes=10,
        records=1200,
        auxiliary_rows=0,
        picture=picture if pictures else None,
    )


def _table() -> SubjectInfo:
    columns = made_columns.loan_columns()
    return SubjectInfo(
        name="loans",
        model="neural",
        known_columns=5,
        unknown_columns=sum(len(column.places) for column in columns),
        classes=2,
        records=80,
        auxiliary_rows=40,
        accuracy=made_columns.SCORES.accuracy,
        active="bank",
        held=("income", "rent", "account age", "cards", "region"),
        parties=("bank", "telco", "registry"),
        columns=columns,
        column_records=made_columns.PEOPLE,
        column_auxiliary_rows=400,
        utility=made_columns.SCORES,
        own_columns=made_columns.OWN_COLUMNS,
        majority=made_columns.MAJORITY,
        fingerprints={"data": "0a1b" * 16, "model": "c2d3" * 16},
    )


def _shown(info: SubjectInfo, error: float) -> tuple[tuple[float, ...], ...]:
    if info.picture is None:
        return ()
    truth = np.array(info.picture.truth)[:, list(info.picture.unknown)]
    noise = np.random.default_rng(0).normal(size=truth.shape) * error**0.5
    return tuple(map(tuple, (truth + noise).round(4).tolist()))


def _guesses(info: SubjectInfo, seeds: tuple[int, ...]) -> list[Finding]:
    return [
        Finding(
            subject=info.name,
            defense="",
            attack=name,
            attacker="guess",
            seed=seed,
            feature_mse=error,
            guess_normalised=error / 0.0158,
            shown=_shown(info, error) if seed == seeds[0] else (),
        )
        for name, error in GUESSES.items()
        for seed in seeds
    ]


def _attacks(info: SubjectInfo, spec: str, seeds: tuple[int, ...]) -> list[Finding]:
    left, naive, *_ = DEFENSES[spec]
    found = []
    for k, attack in enumerate(ATTACKS):
        for attacker, best in (("naive", naive), ("adaptive", left * 0.0158)):
            for seed in seeds:
                error = best * (1 + 0.4 * abs(k - (0 if attacker == "naive" else 4))) + 1e-5
                known = {"subject": info.name, "defense": spec, "attack": attack, "attacker": attacker, "seed": seed}
                if attack.startswith("repeated-query"):
                    found.append(
                        Finding(**known, status="skipped", reason="needs 2 queries of each record, there is 1")
                    )
                    continue
                failed = error > GUESSES["mean guess"]
                found.append(
                    Finding(
                        **known,
                        status="failed" if failed else "ok",
                        reason="worse than the column means" if failed else "",
                        feature_mse=error,
                        guess_normalised=error / 0.0158,
                        confidence_residual=18.6 if attacker == "naive" else 0.0007,
                        shown=_shown(info, error) if seed == seeds[0] else (),
                    )
                )
    return found


def _handout(info: SubjectInfo, spec: str, seed: int) -> Handout:
    _, _, moved, ranking, label, _ = DEFENSES[spec]
    return Handout(
        subject=info.name,
        defense=spec,
        seed=seed,
        ranking_kept=ranking,
        label_kept=label,
        mean_l1_moved=moved,
        top_score_error=moved / 2,
    )


def _curve(rho: float) -> Curve:
    queries = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    theory = np.array([0.0105 * (1 - 0.55 * rho) / (count + 1) for count in queries])
    mean = theory * (1 + 0.06 * np.sin(np.arange(len(queries)) + 10 * rho))
    return Curve(
        subject="digits, logistic",
        rho=rho,
        queries=queries,
        mean=tuple(mean.tolist()),
        low=tuple((0.85 * mean).tolist()),
        high=tuple((1.15 * mean).tolist()),
        theory=tuple(theory.tolist()),
    )
