"""What a leaderboard measures follows from the registries, and what matters most comes first."""

import dataclasses
import itertools
from typing import ClassVar

import pytest

from privee.attacks import known_attacks
from privee.attacks.base import Needs
from privee.attacks.prior_informed import PriorInformed
from privee.attacks.registry import ATTACKS
from privee.bench import protections
from privee.bench.cells import cells_of
from privee.bench.parts import PARTS, attacks_for, registered_attacks
from privee.bench.plan import EPSILONS, SIZES, Plan
from privee.bench.protections import known_protections, proof_of
from privee.defenses import LabelOnly, known_defenses
from privee.defenses.registry import DEFENSES
from privee.errors import SettingError

QUICK = SIZES["quick"]


@dataclasses.dataclass(frozen=True)
class Toy(LabelOnly):
    """A defense of somebody else's."""

    name: ClassVar[str] = "toy"
    audited: ClassVar[tuple[str, ...]] = ("toy:epsilon=2",)

    epsilon: float = 1.0


@dataclasses.dataclass(frozen=True)
class Slow(LabelOnly):
    """One that takes its time."""

    name: ClassVar[str] = "slow-toy"
    slow: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asking(PriorInformed):
    """An attack that asks more than five times."""

    name: ClassVar[str] = "asking"
    audited: ClassVar[tuple[str, ...]] = ("asking", "asking:questions=3")
    needs: ClassVar[Needs] = Needs(oracle=True)

    questions: int = 50


@pytest.fixture
def added(monkeypatch):
    """Registries with new things in them."""
    known_defenses()
    known_attacks()
    monkeypatch.setattr(DEFENSES, "_known", {**DEFENSES._known, "toy": Toy, "slow-toy": Slow})
    monkeypatch.setattr(ATTACKS, "_known", {**ATTACKS._known, "asking": Asking})


def specs(dataset="digits", size=QUICK):
    plan = Plan(size=size, datasets=(dataset,))
    return plan.defenses_of(plan.cases[0])


def test_a_new_defense_is_in_it_by_itself_at_every_epsilon_that_is_compared(added):
    found = specs()
    assert {"toy:epsilon=2", "toy", "toy:epsilon=4", "toy:epsilon=16"} <= set(found)  # an epsilon of 1 is its default
    assert "slow-toy" not in found
    assert "slow-toy" in specs(size=SIZES["full"])
    assert len(found) == len(set(found))


def test_every_defense_is_in_it(added):
    assert {spec.partition(":")[0] for spec in specs(size=SIZES["full"])} == set(known_defenses())


def test_defenses_name_their_own_specs_for_it(added, monkeypatch):
    monkeypatch.setattr(Toy, "benched", ("toy:epsilon=7",), raising=False)
    assert "toy:epsilon=7" in specs()
    assert "toy:epsilon=2" not in specs()


def test_ours_is_there_at_every_epsilon_that_is_compared():
    assert {f"ordered-dp:epsilon={epsilon:g}" for epsilon in EPSILONS} <= set(specs())


def test_a_defense_whose_epsilon_is_not_a_whole_vectors_is_set_by_the_number_of_classes(added, monkeypatch):
    """On ten classes and on two it is another spec, and in tables one and the same line."""
    monkeypatch.setattr(Toy, "for_vector", classmethod(lambda cls, epsilon, n: cls(epsilon=epsilon / n)), raising=False)
    assert "toy:epsilon=0.4" in specs("digits")
    assert "toy:epsilon=2" in specs("breast-cancer")
    plan = Plan(size=QUICK, defenses=("toy",))
    ten, two = (next(case for case in plan.cases if case.dataset == name) for name in ("digits", "breast-cancer"))
    assert plan.label_of(ten, "toy:epsilon=0.4") == plan.label_of(two, "toy:epsilon=2") == "toy:epsilon=4 of a vector"
    assert plan.label_of(ten, "toy:epsilon=2") == "toy:epsilon=2"


def test_every_registered_attack_is_tried_in_full_or_named_as_left_out(added):
    plan = Plan(size=SIZES["full"])
    tried = {spec.partition(":")[0] for part in PARTS for spec in plan.attacks_of(part)}
    assert tried | {spec.partition(":")[0] for spec in plan.left_out} == set(known_attacks())
    assert plan.left_out == ("asking",)  # fifty questions are not five
    assert "asking:questions=3" in plan.attacks_of(next(part for part in PARTS if part.name == "chosen"))


def test_slow_attacks_are_left_out_of_quick_unless_asked_for():
    assert "boosted-trees" in Plan(size=QUICK).left_out
    named = Plan(size=QUICK, attacks=("boosted-trees",))
    assert [part.name for part in PARTS if named.attacks_of(part)] == ["once-slow"]


def test_an_attack_is_tried_in_one_part_for_each_way_of_asking():
    by_way = {}
    for part in PARTS:
        for spec in attacks_for(part, registered_attacks(), slow=True):
            by_way.setdefault((part.queries, spec), []).append(part.name)
    assert {way: names for way, names in by_way.items() if len(names) > 1} == {}


def test_what_matters_most_comes_first():
    plan = Plan(size=dataclasses.replace(QUICK, seeds=2), protections=("seal:codes=8",))
    batches = list(plan.batches)
    assert len(set(batches)) == len(batches)
    assert [batch.what for batch in batches[:6]] == ["worth", "once", "chosen", "ten", "sent", "worth"]
    seeds = [batch.seed for batch in batches]
    assert seeds == sorted(seeds)
    first = [batch for batch in batches if batch.seed == 0]
    sealed = [k for k, batch in enumerate(first) if batch.case.protection and "-" not in batch.what]
    plain = [k for k, batch in enumerate(first) if not batch.case.protection and "-" not in batch.what]
    others = [k for k, batch in enumerate(first) if "-" in batch.what]
    assert max(plain) < min(sealed) < max(sealed) < min(others)
    for case, some in itertools.groupby(batches, key=lambda batch: batch.case):
        assert case in plan.cases
        assert sum(batch.what == "sent" for batch in some) <= 1


def test_a_protection_is_measured_with_its_scores_as_they_are():
    plan = Plan(
        size=QUICK, datasets=("digits",), models=("mlp",), defenses=("rounding",), protections=("seal:codes=4",)
    )
    assert [plan.defenses_of(case) for case in plan.cases] == [("rounding:digits=2",), ("none",)]


def test_what_parties_send_is_attacked_once_whatever_is_released(monkeypatch):
    """Of models without a seal only if some attack sees embeddings."""
    plan = Plan(size=QUICK, datasets=("digits",), models=("mlp",), protections=("seal:codes=4",))
    sent = [batch for batch in plan.batches if batch.what == "sent"]
    assert [batch.case.protection for batch in sent] == ["", "seal:codes=4"]
    assert [plan.defenses_of(batch.case, batch.part) for batch in sent] == [("none",), ("none",)]
    unasked = dataclasses.replace(plan, defenses=("rounding",))
    assert [batch.case.protection for batch in unasked.batches if batch.what == "sent"] == ["seal:codes=4"]
    monkeypatch.setattr("privee.bench.plan.sees_embeddings", lambda spec: False)
    assert [batch.case.protection for batch in plan.batches if batch.what == "sent"] == ["seal:codes=4"]


def test_cells_of_other_settings_have_other_names():
    def keys(**more):
        size = dataclasses.replace(QUICK, **more)
        plan = Plan(size=size, datasets=("digits",), defenses=("none", "rounding:digits=2"))
        return {cell.key for batch in plan.batches for cell in cells_of(plan, batch) if batch.what == "once"}

    assert keys() == keys()
    assert not keys() & keys(records=99)
    assert not keys() & keys(auxiliary_rows=99)
    assert keys() == keys(worth_rows=99)  # which is none of theirs


@pytest.mark.parametrize(("changed", "others"), [("Rounding", {"none"}), ("PriorInformed", set())])
def test_a_changed_source_file_makes_other_cells(monkeypatch, changed, others):
    """A defense's own alone; an attack's, those of all defenses."""

    def keys():
        plan = Plan(size=QUICK, datasets=("digits",), models=("mlp",), defenses=("none", "rounding:digits=2"))
        once = (batch for batch in plan.batches if batch.what == "once")
        return {cell.defense: cell.key for batch in once for cell in cells_of(plan, batch)}

    monkeypatch.setattr("privee.bench.cells.source_mark", lambda cls: "as it was")
    before = keys()
    assert keys() == before
    monkeypatch.setattr("privee.bench.cells.source_mark", lambda cls: "new" if cls.__name__ == changed else "as it was")
    assert {defense for defense, key in keys().items() if key == before[defense]} == others


def test_embedding_defenses_come_in_by_themselves_once_there_are_some(monkeypatch):
    class Package:
        @staticmethod
        def known_embedding_defenses():
            return {"mid": type("Mid", (), {"benched": ("mid:weight=0.5",)}), "dropout": type("Dropout", (), {})}

    monkeypatch.setattr(protections.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(protections.importlib, "import_module", lambda name: Package)
    assert {"embedding:mid:weight=0.5", "embedding:dropout", "seal:codes=8"} <= set(known_protections())


def test_a_rival_is_benched_at_a_setting_that_does_something_too():
    """Public code's weights alone would flatter ours: dcor's does nothing, MID's takes the model with it."""
    specs = set(known_protections())
    assert {"embedding:mid", "embedding:mid:weight=0.005", "embedding:dcor", "embedding:dcor:weight=1"} <= specs


def test_what_is_proven_of_a_seal():
    assert proof_of("seal:codes=8,epsilon=4").epsilon == 4
    assert "3 bits" in proof_of("seal:codes=8").proven


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"datasets": ("nope",)}, "no dataset is called 'nope'"),
        ({"models": ("nope",)}, "no model is called 'nope'"),
        ({"defenses": ("nope",)}, "no defense is called 'nope'"),
        ({"defenses": ("ordered-dp:epsilon=-1",)}, "epsilon"),
        ({"attacks": ("nope",)}, "no attack is called 'nope'"),
        ({"attacks": ("chosen-columns:questions=50",)}, "none of these attacks can be compared"),
        ({"protections": ("codes=8",)}, "a protection is written seal:SPEC"),
        ({"protections": ("seal:codes=1",)}, "codes of a seal"),
    ],
)
def test_what_there_is_not_is_refused_in_one_line(given, line):
    with pytest.raises(SettingError, match=line) as error:
        Plan(size=QUICK, **given)
    assert "\n" not in str(error.value)


def test_what_is_named_twice_is_measured_once():
    """A model that is there twice would have each of its findings pooled as if they were of two seeds."""
    twice = {
        "datasets": ("digits", "digits"),
        "models": ("mlp", "logistic", "mlp"),
        "defenses": ("none", "none"),
        "attacks": ("prior-informed", "prior-informed"),
        "protections": ("seal:codes=8", "seal:codes=8"),
    }
    plan = Plan(size=QUICK, **twice)
    assert {name: getattr(plan, name) for name in twice} == {k: tuple(dict.fromkeys(v)) for k, v in twice.items()}
    assert len(set(plan.batches)) == len(list(plan.batches))
