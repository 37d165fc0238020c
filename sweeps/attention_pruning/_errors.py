"""The errors that claims compare, ||f - f*||_F / ||f*||_F (not squared).

They are those of the fitted mask and of the baselines, with the lambda at which they are taken.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import plot
from jaxtheory.claims import last

NAMES = {
    "gradient": "gradient mask",
    "wanda": "Wanda",
    "sparsegpt": "SparseGPT",
    "magnitude": "magnitude of W",
}
RIVALS = ("wanda", "sparsegpt")  # the source's baselines
SHOWN = (*RIVALS, "magnitude")
BASELINES = (*SHOWN, "magnitude_factors")
PLAIN, HELDOUT = "relative_error", "relative_error_heldout"
RESCALED, RESCALED_HELDOUT = "relative_error_rescaled", "relative_error_rescaled_heldout"
PANELS = {
    PLAIN: "calibration, as pruned",
    HELDOUT: "held out, as pruned",
    RESCALED: "calibration, logits rescaled",
    RESCALED_HELDOUT: "held out, logits rescaled",
}
ERROR = "relative error, calibration"


def select(values: xr.DataArray, *pruners: str) -> xr.DataArray:
    """The entries of one pruner, or the least of several."""
    return values.sel(pruner=list(pruners)).min("pruner")


def half(dataset: xr.Dataset) -> xr.Dataset:
    """The part of a dataset with rho = 1/2."""
    return dataset.sel(pruning_ratio=0.5, drop=True)


def after(dataset: xr.Dataset, name: str = PLAIN) -> xr.DataArray:
    """Errors after training."""
    return last(dataset[name])


def best(dataset: xr.Dataset) -> xr.DataArray:
    """The gradient mask's calibration error at the best lambda."""
    return select(after(dataset), "gradient").min("regularization")


def tuned(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Final errors at the lambda whose mask has the least plain calibration error."""
    return after(dataset, name).isel(
        regularization=select(after(dataset), "gradient").fillna(np.inf).argmin("regularization")
    )


def lead(dataset: xr.Dataset, name: str, *rivals: str) -> xr.DataArray:
    """Error of the gradient mask minus the best of some baselines (none named: of all).

    Negative where the mask is better.
    """
    errors = tuned(dataset, name)
    return select(errors, "gradient") - select(errors, *(rivals or BASELINES))


def rival_gap(errors: xr.DataArray) -> xr.DataArray:
    """Wanda's error minus SparseGPT's, over the larger of the two."""
    wanda, sparsegpt = (select(errors, name) for name in RIVALS)
    return (wanda - sparsegpt) / np.maximum(wanda, sparsegpt)


def lines(
    ax: Any, errors: xr.DataArray, x: str, pruners: Collection[str] = SHOWN, **style: Any
) -> None:
    """Errors against x, a line for each pruner in its own color."""
    for color, (pruner, label) in enumerate(NAMES.items()):
        if pruner in pruners:
            plot.series(ax, select(errors, pruner), x, label, color=color, **style)


def finish(
    ax: Any,
    x: str,
    title: str,
    *,
    top: float | None = None,
    at: xr.DataArray | None = None,
    **options: Any,
) -> None:
    """A panel of errors from 0 to `top`, with ticks only `at` some x, if given.

    `options` are those of `plot.finish`.
    """
    settings: dict[str, Any] = {"y": ERROR, "legend": False} | options
    plot.finish(ax, x, title=title, **settings)
    ax.set_ylim(0, top)
    if at is not None:
        ax.set_xticks(at, [f"{v:g}" for v in at.values])
        ax.set_xticks([], minor=True)
