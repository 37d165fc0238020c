"""What the figures of nearest_neighbor share: settings, the quick form, and what claims measure.

The source's d, N, eta and sigma are lost, so the settings are ours; 2000 steps are at second hand.
Thresholds come from the exact population and from runs on keys 100 to 102, widened; comments say
what was measured.
"""

from collections.abc import Callable
from typing import Any

import xarray as xr

import jaxtheory
from jaxtheory import Claim, holds, statistics
from jaxtheory.theories.nearest_neighbor import Config

THEORY = jaxtheory.theories.get("nearest_neighbor")
PAPER = "arXiv 2411.10830"
D, N, ETA, SIGMA, B = "dimension", "context", "learning_rate", "mask", "num_prompts"
ROWS = [
    (4, 4, 5.0, 1.0),
    (4, 16, 5.0, 1.0),
    (8, 16, 5.0, 10.0),
    (3, 8, 5.0, 10.0),
    (16, 32, 8.0, 10.0),
    (8, 16, 5.0, 1.0),
]
STEPS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 350, 500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000]

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


def settings(rows: list[tuple[int, int, float, float]]) -> dict[str, list]:
    """Settings (d, N, sigma, eta) as one labelled axis."""
    columns = dict(zip((D, N, SIGMA, ETA), map(list, zip(*rows, strict=True)), strict=True))
    return {"setting": [f"d={d}, N={n}, σ={s:g}, η={e:g}" for d, n, s, e in rows]} | columns


def derived(
    id: str, statement: str, measure: Callable[[xr.Dataset], xr.DataArray], **bound: Any
) -> Claim:
    """A claim of ours, expected to hold."""
    return holds(id, "derived", "derived", statement, measure, **bound)


def last(values: xr.DataArray) -> xr.DataArray:
    """The values at the last recorded step."""
    return values.isel(step=-1)


def started(data: xr.Dataset) -> xr.Dataset:
    """All but step 0, which a logarithmic axis cannot show."""
    return data.isel(step=data.step.values >= 1)


def late_slope(values: xr.DataArray) -> xr.DataArray:
    """Exponent of t from t = 500 on."""
    return statistics.slope(values.sel(step=slice(500, None)), "step")


def valley_share(data: xr.Dataset) -> xr.DataArray:
    """xi1 and xi2 over the valley's at the last step."""
    return last(
        xr.concat(
            [data.xi1 / data.predicted_xi1_valley, data.xi2 / data.predicted_xi2_valley], "xi"
        )
    )
