"""Every figure's quick dataset against stored ones: `python tests/compare_datasets.py DIR [NAME
...]`.

DIR holds a store `NAME-xxxxxxxx` per figure, as `jaxtheory run all --quick --store DIR` writes
them; the dtype is that of the store.
Prints a row per figure: variables that are equal bit for bit, and of the others the largest |a - b|
/ max(|b|, 1e-3), with its name. Exit code 1 where float64 differs by more than 1e-10 or float32 by
more than 1e-4.
"""

import json
import sys
from pathlib import Path

import numpy as np
import xarray as xr
from zarr.storage import LocalStore

import jaxtheory

RENAMED = {"method": "pruner", "rank": "kept_rank"}
LIMIT = {"float64": 1e-10, "float32": 1e-4}


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest |a - b| / max(|b|, 1e-3); infinite where shapes or places of NaN differ."""
    if a.shape != b.shape:
        return np.inf
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    if np.any(np.isnan(a) != np.isnan(b)):
        return np.inf
    with np.errstate(invalid="ignore"):
        return float(
            np.nanmax(np.where(a == b, 0, np.abs(a - b) / np.maximum(np.abs(b), 1e-3)), initial=0)
        )


def main(folder: str, *names: str) -> int:
    """Compare and print."""
    failed = False
    for name in names or jaxtheory.figures.entries():
        figure = jaxtheory.figures.get(name)
        stored = sorted(Path(folder).glob(f"{name}-????????/data.zarr"))
        if not stored:
            print(f"{name:28} nothing stored", flush=True)
            continue
        old = xr.open_zarr(LocalStore(stored[0])).load()
        config, options = jaxtheory.claims.arguments(figure, True)
        options["dtype"] = json.loads((stored[0].parent / "manifest.json").read_text())["request"][
            "dtype"
        ]
        new = figure.verb(figure.theory, config, **options)
        old = old.rename({k: v for k, v in RENAMED.items() if k in old.dims and v in new.dims})
        same_names = set(old.variables) == set(new.variables) and all(
            old[n].dims == new[n].dims for n in old.data_vars
        )
        gaps = {
            n: gap(np.asarray(new[n].values), np.asarray(old[n].values))
            for n in old.data_vars
            if n in new
        }
        worst = max(gaps, key=lambda n: gaps[n])
        dtype = str(new[worst].dtype)
        bad = not same_names or gaps[worst] > LIMIT.get(dtype, 0)
        failed |= bad
        equal = sum(g == 0 for g in gaps.values())
        print(
            f"{name:28} {equal:3} of {len(gaps):3} bit for bit; {gaps[worst]:.1e} {worst} "
            f"{dtype}{'  <-- differs' if bad else ''}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
