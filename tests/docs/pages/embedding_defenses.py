"""Three parties' tables."""

from privee.data.datasets import load_dataset
from privee.vfl import TrainingSettings
from privee.vfl.experiment import partition_of
from privee.vfl.joint_data import from_dataset
from tests._support.reader.worlds import QUICK_AUDIT, write_risk_tables

SMALLER = {"privee train": "--epochs 2", "privee audit": QUICK_AUDIT}


def prepare(place):
    write_risk_tables(place.folder)
    place.replace[" ... "] = " --active bank --id customer --label risk --out runs/risk "
    digits = load_dataset("digits")
    halves = partition_of(digits, parties=2, adversary_fraction=0.5, how=None, seed=0)
    data = from_dataset(digits, halves)
    place.names |= {"path": place.folder / "run", "data": data, "settings": TrainingSettings(epochs=1)}
    place.replace['"shop"'] = '"passive-1"'
