"""How does the error of the pruned attention depend on the share of pruned weights, and on clipping
the mask?
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import PLAIN, RESCALED, RIVALS, after, finish, lines, of

SOURCE = f"{PAPER}, figure 2(c)"


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
        Claim(
            "AP-15",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“outperforms Wanda and SparseGPT with a large margin”, read as: for rho from 0.3 to 0.8 the error is at most 0.6 of the better of the two.",
            measure=lambda d: (of(by_ratio(d), "gradient") / of(by_ratio(d), *RIVALS)).sel(
                pruning_ratio=slice(0.25, 0.85)
            ),
            bound=at_most(0.6),
        ),
        Claim(
            "AP-16",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“our algorithm consistently outperforms both Wanda and SparseGPT across the range”, where the range is lost and read as rho = 0.2 to 0.9.",
            measure=lambda d: lead(d, *RIVALS).sel(pruning_ratio=slice(0.15, None)),
            bound=at_most(0.0),
        ),
        Claim(
            "AP-17",
            origin=derived(),
            statement="Below that range this fails: at rho = 0.05 the gradient mask is worse than Wanda by at least 0.02.",
            measure=lambda d: lead(d, "wanda").sel(pruning_ratio=0.05),
            bound=at_least(0.02),
        ),
        Claim(
            "AP-18",
            origin=derived(),
            statement="From rho = 0.2 to 0.7 the error of the gradient mask rises by at most 0.05.",
            measure=lambda d: rise(d, 0.2, 0.7),
            bound=at_most(0.05),
        ),
        Claim(
            "AP-19",
            origin=derived(),
            statement="From rho = 0.7 to 0.9 the error of the gradient mask rises by at least 0.12.",
            measure=lambda d: rise(d, 0.7, 0.9),
            bound=at_least(0.12),
        ),
        Claim(
            "AP-20",
            origin=interpretation(PAPER, "figure 2(c)"),
            statement="“all methods exhibit a rise in relative error”, read as: the error of the baselines rises by at least 0.1 from rho = 0.05 to 0.2, to 0.5 and to 0.8.",
            measure=lambda d: (
                by_ratio(d)
                .sel({"pruner": list(RIVALS), "pruning_ratio": [0.05, 0.2, 0.5, 0.8]})
                .diff("pruning_ratio")
            ),
            bound=at_least(0.1),
        ),
        Claim(
            "AP-21",
            origin=derived(),
            statement="Clipping makes many entries equal to 0, which costs at least 0.1 in error at rho = 0.1.",
            measure=lambda d: (of(by_ratio(d, True), "gradient") - of(by_ratio(d), "gradient")).sel(
                pruning_ratio=0.1
            ),
            bound=at_least(0.1),
        ),
    ),
)
