"""The files of a store, and how datasets are lost."""

import shutil
from pathlib import Path


def parts(store: Path) -> list[Path]:
    """The files of finished parts, without temporary ones, which a killed process leaves."""
    return sorted((Path(store) / "parts").glob("[0-9a-f]*.part"))


def dataset_folder(store: Path) -> Path:
    """The folder of the newest dataset, with data.zarr and data.sum."""
    return Path(store) / "data" / (Path(store) / "data" / "newest").read_text()


def lose_dataset(store: Path) -> None:
    """Remove all datasets of a store; the requests remain."""
    for folder in [Path(store) / "data.zarr", *(Path(store) / "data").glob("*/")]:
        shutil.rmtree(folder, ignore_errors=True)
