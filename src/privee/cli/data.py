"""`privee data`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from privee.cli.names import DATASET
from privee.cli.output import err, out, print_json, progress_bar

if TYPE_CHECKING:
    from privee.data.datasets import Fetched

app = typer.Typer(help="Public datasets: what there is, and where it is.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
Folder = Annotated[Path | None, typer.Option("--data-dir", help="Look here before PRIVEE_DATA_DIR and the cache.")]


@app.command("list")
def list_datasets(data_dir: Folder = None, as_json: Json = False) -> None:
    """What datasets there are, and which of them are here.

    Example: `privee data list`
    """
    from privee.data.datasets import known_datasets, where_is

    known = known_datasets().values()
    places = [where_is(one.name, data_dir) for one in known]
    if as_json:
        pairs = zip(known, places, strict=True)
        print_json([one.as_dict() | {"where": where, "source": source} for one, (where, source) in pairs])
        return
    table = Table()
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "columns", "classes"):
        table.add_column(heading, justify="right")
    for heading in ("where", "licence"):
        table.add_column(heading)
    for one, (where, _) in zip(known, places, strict=True):
        numbers = (f"{number:,}" for number in (one.rows, one.columns, one.classes))
        table.add_row(one.name, *numbers, where, one.licence)
    out.print(table)


@app.command()
def fetch(
    names: Annotated[
        list[str], typer.Argument(autocompletion=DATASET, help="Datasets to fetch; see `privee data list`.")
    ],
    data_dir: Folder = None,
    as_json: Json = False,
) -> None:
    """Download datasets that are not here yet, and verify those that are.

    Example: `privee data fetch mnist adult`
    """
    fetched = [_fetch(name, data_dir) for name in names]
    if as_json:
        print_json([one._asdict() | {"paths": [str(path) for path in one.paths]} for one in fetched])
        return
    for one in fetched:
        out.print(f"{one.name}: {one.status}, {one.source}", markup=False, soft_wrap=True)


def _fetch(name: str, data_dir: Path | None) -> Fetched:
    from privee.data.datasets import fetch_dataset

    with progress_bar(f"fetching {name}") as progress:
        return fetch_dataset(name, data_dir=data_dir, progress=progress)


@app.command()
def info(
    name: Annotated[str, typer.Argument(autocompletion=DATASET, help="A dataset; see `privee data list`.")],
    data_dir: Folder = None,
    as_json: Json = False,
) -> None:
    """One dataset: files and checksums, and shapes and class counts if it is here. Nothing is downloaded.

    Example: `privee data info adult`
    """
    from privee.data.datasets import describe

    with err.status(f"reading {name} ..."):
        facts = describe(name, data_dir)
    if as_json:
        print_json(facts)
    else:
        _tell(facts)


def _tell(facts: dict[str, Any]) -> None:
    def line(text: str) -> None:
        out.print(text, markup=False, soft_wrap=True)

    line(f"{facts['name']}: {facts['title']}, {facts['rows']:,} rows, {facts['columns']:,} columns")
    line(f"licence: {facts['licence']}\nhome: {facts['home']}\nhere: {facts['source'] or 'no'}")
    for layout in facts["layouts"]:
        for file in layout["files"]:
            line(f"{layout['title']}: {file['name']}, {file['size']:,} bytes, sha256 {file['sha256']}")
    if "x_train" not in facts:
        line(f"fetch it with: privee data fetch {facts['name']}")
        return
    line(f"training {facts['x_train']}, test {facts['x_test']}, {facts['features']:,} features in [0, 1]")
    table = Table("class", "training rows", "test rows")
    for label, count in facts["train_counts"].items():
        table.add_row(label, f"{count:,}", f"{facts['test_counts'][label]:,}")
    out.print(table)
