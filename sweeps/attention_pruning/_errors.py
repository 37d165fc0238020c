"""The errors that claims compare, ||f - f*||_F / ||f*||_F (not squared): of the fitted mask and the
baselines, at which lambda.
"""

import xarray as xr

from . import PRUNER

NAMES = {
    "gradient": "gradient mask",
    "wanda": "Wanda",
    "sparsegpt": "SparseGPT",
    "magnitude": "magnitude of W",
}
RIVALS = ("wanda", "sparsegpt")  # the source's baselines
BASELINES = (*RIVALS, "magnitude", "magnitude_factors")
PLAIN, HELDOUT = "relative_error", "relative_error_heldout"
RESCALED, RESCALED_HELDOUT = "relative_error_rescaled", "relative_error_rescaled_heldout"
PANELS = {
    PLAIN: "calibration, as pruned",
    HELDOUT: "held out, as pruned",
    RESCALED: "calibration, logits rescaled",
    RESCALED_HELDOUT: "held out, logits rescaled",
}
ERROR = "relative error, calibration"


def of(values: xr.DataArray, *pruners: str) -> xr.DataArray:
    """The entries of one pruner, or the least of several."""
    chosen = values.sel({PRUNER: list(pruners)})
    return chosen.min(PRUNER) if len(pruners) > 1 else chosen.isel({PRUNER: 0}, drop=True)


def half(dataset: xr.Dataset) -> xr.Dataset:
    """At rho = 1/2."""
    return dataset.sel(pruning_ratio=0.5, drop=True)


def after(dataset: xr.Dataset, name: str = PLAIN) -> xr.DataArray:
    """Errors after training."""
    return dataset[name].isel(step=-1) if "step" in dataset[name].dims else dataset[name]


def best(dataset: xr.Dataset) -> xr.DataArray:
    """The gradient mask's calibration error at the best lambda."""
    return of(after(dataset), "gradient").min("regularization")


def tuned(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Final errors at the lambda whose mask has the least plain calibration error."""
    return after(dataset, name).isel(
        regularization=of(after(dataset), "gradient").argmin("regularization")
    )


def lead(dataset: xr.Dataset, name: str, *rivals: str) -> xr.DataArray:
    """Error of the gradient mask minus the best of some baselines (none named: of all); negative
    where the mask is better.
    """
    errors = tuned(dataset, name)
    return of(errors, "gradient") - of(errors, *(rivals or BASELINES))
