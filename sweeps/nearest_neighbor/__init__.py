"""Shared parts of the figures of nearest_neighbor: settings, the quick form, and measures.

The source's d, N, eta and sigma are lost, so the settings are ours. The 2000 steps come from a
summary of the source. Thresholds come from the exact population and from runs on keys 100 to 102,
widened. Comments say what was measured.
"""

from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import plot
from jaxtheory.claims import exponent
from jaxtheory.theories.nearest_neighbor import Config

THEORY = jaxtheory.theories.get("nearest_neighbor")
PAPER = "arXiv 2411.10830"
FORM = f"{PAPER}, proposition on the form of W"
SHIFT = f"{PAPER}, theorem on shift"
D, N, ETA, SIGMA, B = "dimension", "context", "learning_rate", "mask", "num_prompts"
SYMBOLS = {D: "d", N: "N", SIGMA: "σ", ETA: "η"}
ROWS = [
    (4, 4, 5.0, 1.0),
    (4, 16, 5.0, 1.0),
    (8, 16, 5.0, 10.0),
    (3, 8, 5.0, 10.0),
    (16, 32, 8.0, 10.0),
    (8, 16, 5.0, 1.0),
]
STEPS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000]
RUNS: dict[str, Any] = {"seeds": 8, "steps": 2000, "record": STEPS, "dtype": "float32"}
EXACT: dict[str, Any] = {"algorithm": "population", "dtype": "float64"}
LOG: dict[str, Any] = {"xscale": "log", "yscale": "log"}

# Quick figures share shapes, hence a compilation per algorithm.
SMALL = Config(num_prompts=500, num_test=200)
QUICK = {
    "config": SMALL,
    "seeds": 2,
    "steps": 100,
    "record": [0, 10, 20, 50, 75, 100],
    "dtype": "float32",
    "buckets": "pad",
}


def settings(rows: list[tuple[int, int, float, float]], *, omitted: str = "") -> dict[str, list]:
    """Settings (d, N, sigma, eta), or all of them but one, as one labeled axis."""
    named = [dict(zip(SYMBOLS, row, strict=True)) for row in rows]
    columns = {name: [row[name] for row in named] for name in SYMBOLS if name != omitted}
    label = lambda row: ", ".join(f"{SYMBOLS[name]}={row[name]:g}" for name in columns)
    return {"setting": [label(row) for row in named]} | columns


def course(
    ax: Any,
    values: xr.DataArray,
    label: str,
    color: int | str,
    law: xr.DataArray | None = None,
    law_label: str = "",
) -> None:
    """The mean in t with its band, and its law, dashed in the same color."""
    plot.series(ax, values, "step", label, color=color, markers=False)
    if law is not None:
        plot.theory(ax, law.step.values, law.values, law_label, color=color)


def started(data: xr.Dataset) -> xr.Dataset:
    """All but step 0, which a logarithmic axis cannot show."""
    return data.isel(step=data.step.values >= 1)


def late_slope(values: xr.DataArray) -> xr.DataArray:
    """Exponent of t from t = 500 on."""
    return exponent(values.sel(step=slice(500, None)), "step")


def valley_share(data: xr.Dataset) -> xr.DataArray:
    """xi1 and xi2 over the valley's."""
    shares = [data[xi] / data[f"predicted_{xi}_valley"] for xi in ("xi1", "xi2")]
    return xr.concat(shares, "xi")
