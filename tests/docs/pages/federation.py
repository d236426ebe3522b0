"""Sites of one epoch; a project that is made twice gets another name the second time."""

from tests._support.reader.worlds import write_risk_tables

NEEDS = ("nvflare",)
SMALLER = {"privee federation simulate": "--epochs 1", "privee federation init demo": "--epochs 1"}


def prepare(place):
    write_risk_tables(place.folder)
    sealed = "--server flare.example.org --party bank --party shop --active bank --seal"
    place.replace[f"init risk {sealed}"] = f"init sealed {sealed}"
    place.replace["data shop --data /data/baskets.csv"] = "data sealed/kits/shop --data shop.csv"
