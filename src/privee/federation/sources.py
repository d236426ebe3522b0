"""Where a job's data comes from: a named dataset shared out among the sites, or each site's own table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.data.datasets import load_dataset
from privee.errors import PriveeError
from privee.federation.settings import SiteSettings
from privee.vfl.experiment import How, partition_of


def dataset_source(
    name: str,
    *,
    parties: int,
    adversary_fraction: float | None = None,
    how: How | None = None,
    seed: int = 0,
    data_dir: Path | None = None,
) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Site names and source of a dataset whose columns are shared out as `privee train` does it."""
    dataset = load_dataset(name, data_dir=data_dir, seed=seed)
    chosen = how or ("strips" if dataset.image_shape else "contiguous")
    partition = partition_of(dataset, parties=parties, adversary_fraction=adversary_fraction, how=chosen, seed=seed)
    source = {"dataset": dataset.name, "partition": partition.as_dict(), "shares": partition.describe()}
    return tuple(part.name for part in partition.parts), source


def table_source(test_share: float = 0.2) -> Mapping[str, Any]:
    """The sites' own tables, aligned inside the job."""
    return {"tables": {"test_share": test_share}}


def table_sites(
    files: Mapping[str, Path], id_columns: Mapping[str, str], active: str, label: str | None
) -> dict[str, SiteSettings]:
    """Settings of sites whose tables are on this machine."""
    if active in files and label is None:
        raise PriveeError(f"which column of {active} holds the labels? Give --label COLUMN")
    return {
        site: SiteSettings(
            folder=Path(),
            data=path.resolve(),
            id_column=id_columns[site],
            label=label if site == active else None,
        )
        for site, path in files.items()
    }
