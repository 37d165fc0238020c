"""How does the error of the pruned attention depend on the share of pruned weights, and on clipping
the mask?
"""

import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, claims_of, derived, with_legend
from ._errors import PLAIN, RESCALED, RIVALS, after, finish, lines, of

SOURCE = f"{PAPER}, figure 2(c)"
reading = claims_of("reading", SOURCE)


def by_ratio(dataset: xr.Dataset, clip: bool = False) -> xr.DataArray:
    """Calibration errors after training, averaged over lambda (all three are stable and near the
    best).
    """
    return after(dataset).sel(clip=clip).mean("regularization")


def lead(dataset: xr.Dataset, *rivals: str) -> xr.DataArray:
    """Error of the gradient mask minus the least of some baselines."""
    return of(by_ratio(dataset), "gradient") - of(by_ratio(dataset), *rivals)


def rise(dataset: xr.Dataset, low: float, high: float) -> xr.DataArray:
    """Rise of the gradient mask's error between two pruning ratios."""
    errors = of(by_ratio(dataset), "gradient")
    return errors.sel(pruning_ratio=high) - errors.sel(pruning_ratio=low)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """Errors as pruned, and with the best factor on the logits."""
    strengths = ", ".join(f"{v:g}" for v in dataset.regularization.values)
    runs = f"mean over λ in {{{strengths}}}"
    figure, axes = plot.panels(2, title=f"Error against the share of pruned weights ({runs})")
    titles = {PLAIN: "as pruned", RESCALED: "logits rescaled by the best factor"}
    for ax, (name, title) in zip(axes[0], titles.items(), strict=True):
        errors = after(dataset, name).mean("regularization")
        for clip in dataset["clip"].values:
            label, color = ("gradient mask, clipped to [0, 1]", 4) if clip else ("gradient mask", 0)
            fitted = of(errors, "gradient").sel(clip=clip)
            plot.series(ax, fitted, "pruning_ratio", label, color=color)
        lines(ax, errors.isel(clip=0), "pruning_ratio")
        finish(ax, "share of weights set to zero, ρ", title, top=1.4)
    return with_legend(figure, axes[0, 0])


FIGURE = Figure(
    name="pruning_ratio",
    source=SOURCE,
    theory=THEORY,
    config=P3,
    sweep=after_steps(
        1500,
        {"clip": [False, True]} | AXES | {"rho": [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9]},
    ),
    quick=QUICK | {"vary": {"clip": [False]} | AXES | {"rho": [0.05, 0.5, 0.9]}},
    draw=draw,
    claims=(
        reading(
            "AP-15",
            "“outperforms Wanda and SparseGPT with a large margin”, read as: for rho from .3 to .8 "
            "the error is at most .6 of the better of the two.",
            lambda d: (of(by_ratio(d), "gradient") / of(by_ratio(d), *RIVALS)).sel(
                pruning_ratio=slice(0.25, 0.85)
            ),
            at_most=0.6,
        ),
        reading(
            "AP-16",
            "“our algorithm consistently outperforms both Wanda and SparseGPT across the range”, "
            "which is lost and read as rho = .2 to .9.",
            lambda d: lead(d, *RIVALS).sel(pruning_ratio=slice(0.15, None)),
            at_most=0.0,
        ),
        derived(
            "AP-17",
            "Not below: at rho = .05 the gradient mask is worse than Wanda by at least .02.",
            lambda d: lead(d, "wanda").sel(pruning_ratio=0.05),
            at_least=0.02,
        ),
        derived(
            "AP-18",
            "The gradient mask's error does not rise from rho = .2 to .7, by .05 at most.",
            lambda d: rise(d, 0.2, 0.7),
            at_most=0.05,
        ),
        derived(
            "AP-19",
            "It rises by at least .12 from rho = .7 to .9.",
            lambda d: rise(d, 0.7, 0.9),
            at_least=0.12,
        ),
        reading(
            "AP-20",
            "“all methods exhibit a rise in relative error”, read as: of the baselines, by at "
            "least .1 from rho = .05 to .2, to .5 and to .8.",
            lambda d: (
                by_ratio(d)
                .sel({"pruner": list(RIVALS), "pruning_ratio": [0.05, 0.2, 0.5, 0.8]})
                .diff("pruning_ratio")
            ),
            at_least=0.1,
        ),
        derived(
            "AP-21",
            "Clipping ties many entries at 0, which at rho = .1 costs at least .1 in error.",
            lambda d: (of(by_ratio(d, True), "gradient") - of(by_ratio(d), "gradient")).sel(
                pruning_ratio=0.1
            ),
            at_least=0.1,
        ),
    ),
)
