"""A table of scores with ids and a column to be kept, and the releases that one process gives it."""

import numpy as np
import pyarrow as pa

CLASSES = ["a", "b", "c"]
GIVEN = {"columns": CLASSES, "id_column": "person", "model_version": "risk 3"}
DEFENSE = "ordered-dp:epsilon=2"


def score_table(rows: int, kind: str = "float64") -> pa.Table:
    scores = np.random.default_rng(3).dirichlet([1, 1, 1], rows).astype(kind)
    columns = {name: scores[:, place] for place, name in enumerate(CLASSES)}
    ids = [f"p{row}" for row in range(rows)]
    return pa.table({"note": [f"n{row}" for row in range(rows)], "person": ids, **columns})


def same_bits(found: pa.Table, expected: pa.Table) -> bool:
    """Whether two tables hold the same, whatever the order of their rows."""
    one, other = (table.sort_by("person") for table in (found.select(expected.column_names), expected))
    return one.to_pydict() == other.to_pydict()
