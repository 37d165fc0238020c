"""Shared parts of the figures of in_context_regression: settings, the quick form, and measures.

Of arXiv 2501.16265 the abstract, the formulas and the settings of the printed figures were read
(D = 4, N = 31, eigenvalues that fall as D, ..., 1). Learning rates, steps and initial scales are
ours. Thresholds come from runs on keys 100 and 101, widened. Comments say what was measured.
"""

from typing import Any

import numpy as np
import xarray as xr
from scipy.signal import find_peaks

import jaxtheory
from jaxtheory import plot
from jaxtheory.theories.in_context_regression import Config, laws

THEORY = jaxtheory.theories.get("in_context_regression")
PAPER = "arXiv 2501.16265"
ABSTRACT = f"{PAPER}, abstract"
D, N, H, R, P = "dimension", "length", "heads", "rank", "num_prompts"
ETA, SIGMA, SHARE = "learning_rate", "initial_scale", "in_weight_share"

# Prompts are drawn for the metrics of training alone; the population needs none.
ON_POPULATION = Config(num_prompts=10, initial_scale=0.01)
EXACT: dict[str, Any] = {"algorithm": "population", "dtype": "float64", "buckets": "pad"}
# Quick figures share sizes, hence a compilation per form and algorithm.
QUICK: dict[str, Any] = {"seeds": 2, "steps": 400, "record": [0, 50, 100, 200, 300, 400]}


def often(first: int, steps: int, count: int = 600) -> list[int]:
    """Step 0 and about `count` steps that grow geometrically."""
    return [0, *sorted({round(t) for t in np.geomspace(first, steps, count)})]


def levels(config: Config) -> np.ndarray:
    """The losses L_0 .. L_D of the theory."""
    return np.asarray(laws.plateaus(config), float)


def rate(loss: xr.DataArray) -> xr.DataArray:
    """-dL/dt between records, at the later one."""
    return -loss.diff("step") / loss.step.diff("step")


def drops(loss: xr.DataArray) -> xr.DataArray:
    """The number of times at which the loss falls fastest.

    These are peaks of -dL/dt between which it is at most half as large. Rates below 1e-9 of the
    largest count as zero.
    """
    return xr.apply_ufunc(_peaks, rate(loss), input_core_dims=[["step"]], vectorize=True)


def _peaks(speed: np.ndarray) -> float:
    if np.isnan(speed).any():
        return np.nan
    least = 1e-9 * abs(speed).max()
    logs = np.log(np.maximum(speed, max(least, np.finfo(float).tiny)))
    return float(len(find_peaks([logs.min() - 1, *logs], prominence=np.log(2))[0]))


def at_pauses(data: xr.Dataset, config: Config) -> xr.Dataset:
    """The records at which the loss falls slowest on its way past L_m, m = 1 .. D - 1.

    The way past L_m leads from the middle between L_m and the level above to that below it. `level`
    is L_m. NaN where a run did not come that far.
    """
    plateaus = levels(config)
    middles = (plateaus[:-1] + plateaus[1:]) / 2
    number = {"pause": np.arange(1, len(plateaus) - 1)}
    above, below = (xr.DataArray(x, number, ["pause"]) for x in (middles[:-1], middles[1:]))
    later = data.isel(step=slice(1, None))
    on_way = (later.loss < above) & (later.loss > below)
    slowest = rate(data.loss).where(on_way, np.inf).argmin("step")
    pauses = later.isel(step=slowest).where(on_way.any("step"))
    return pauses.assign(level=("pause", plateaus[1:-1]))


def curves(ax: Any, values: xr.DataArray, color: int, label: str = "") -> None:
    """A thin line per seed."""
    for i, seed in enumerate(values.seed.values):
        one = values.sel(seed=seed)
        ax.plot(one.step, one, color=plot.COLORS[color], lw=0.9, label=label if i == 0 else "")
