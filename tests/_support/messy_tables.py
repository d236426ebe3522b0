"""Three organisations' tables as they come: other delimiters, quotes, encodings, names of ids, orders, and people."""

import csv
import gzip
import random
from pathlib import Path


def write_messy_tables(folder: Path, people: int = 200) -> None:
    """`bank.csv`, `shop.csv` and `calls.csv.gz`; ids are 1000, 1007, ..., and only some are in all three."""
    draw = random.Random(4)
    everybody = [_person(draw, 1000 + 7 * k) for k in range(people)]

    def some(start: int, stop: int) -> list[dict]:
        return draw.sample(everybody[start:stop], stop - start)

    with (folder / "bank.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "income", "age", "branch", "risk"])
        rows = some(0, people - 20)
        writer.writerows([p["id"], f"{p['income']:.2f}", p["age"], 1, p["risk"]] for p in rows)
    with (folder / "shop.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL)
        writer.writerow(["Kundennummer", "Warenkorb", "Besuche", "Stadt", "Notiz"])
        rows = some(10, people - 10)
        basket = (f"{p['basket']:.2f}".replace(".", ",") for p in rows)
        writer.writerows(
            [p["id"], b, p["visits"], p["city"], f'"neu"; seit {p["id"]}'] for p, b in zip(rows, basket, strict=True)
        )
    with gzip.open(folder / "calls.csv.gz", "wt", newline="", encoding="cp1252") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["subscriber", "minutes", "Tarif"])
        writer.writerows([p["id"], f"{p['minutes']:.1f}", p["plan"]] for p in some(20, people))


def _person(draw: random.Random, number: int) -> dict:
    person = {
        "id": number,
        "income": draw.gauss(50, 12),
        "age": draw.randint(18, 80),
        "basket": draw.gauss(30, 9),
        "visits": draw.randint(0, 20),
        "city": draw.choice(["Köln", "Zürich", "Graz"]),
        "minutes": draw.expovariate(1 / 200),
        "plan": draw.choice(["groß", "klein"]),
    }
    total = (person["income"] - 50) / 12 + (person["basket"] - 30) / 9 + (person["minutes"] - 200) / 200
    person["risk"] = "" if number % 50 == 0 else "high" if total + (person["city"] == "Graz") > 0.4 else "low"
    return person
