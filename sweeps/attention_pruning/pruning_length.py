"""How does the error of the pruned attention grow with the sequence length?"""

import xarray as xr

from jaxtheory import Figure, holds, plot, refuted, undecided
from jaxtheory.theories.attention_pruning import P3

from . import AXES, PAPER, PRUNER, QUICK, THEORY, legend, ticks
from ._errors import ERROR, NAMES, RIVALS, after, half, of

CALMER = P3.replace(
    step_scale=0.01
)  # with 600 steps between P2 and P3; lambda = 5 is past the stability edge from L = 128 on


def last(dataset: xr.Dataset) -> xr.DataArray:
    """Calibration errors after training at rho = 1/2, for each lambda."""
    return after(half(dataset))


def growth(dataset: xr.Dataset, pruner: str) -> xr.DataArray:
    """Rise of the error from the shortest to the longest sequences."""
    errors = of(last(dataset), pruner)
    return errors.isel(length=-1) - errors.isel(length=0)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """A panel per pruning ratio."""
    strengths = dataset.regularization.values
    figure, axes = plot.panels(
        dataset.sizes["pruning_ratio"],
        title=f"Error against sequence length ({dataset.sizes['seed']} seeds)",
    )
    for ax, rho in zip(axes[0], dataset.pruning_ratio.values, strict=True):
        errors = after(dataset.sel(pruning_ratio=rho))
        for j, strength in enumerate(strengths):
            label = (
                f"gradient mask, lambda in {{{', '.join(f'{v:g}' for v in strengths)}}}"
                if j == 0
                else ""
            )
            plot.series(ax, of(errors, "gradient").sel(regularization=strength), "length", label)
        for colour, pruner in list(enumerate(NAMES))[1:]:
            plot.series(
                ax,
                of(errors, pruner).isel(regularization=0),
                "length",
                NAMES[pruner],
                colour=colour,
            )
        plot.finish(ax, "L (tokens)", ERROR, f"rho = {rho:g}", legend=False, xscale="log")
        ax.set_ylim(0, None)
        ticks(ax, dataset.length)
    legend(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="pruning_length",
    source=f"{PAPER}, figure 2(b)",
    theory=THEORY,
    config=CALMER,
    sweep={
        "vary": {"length": [16, 32, 64, 128, 256], "lambda": [10.0, 20.0], "rho": AXES["rho"]},
        "seeds": 8,
        "steps": 600,
        "record": [600],
        "dtype": "float32",
        "buckets": "pad",
    },
    quick=QUICK | {"vary": {"length": [16, 64]} | AXES, "seeds": 2},
    draw=draw,
    claims=(
        holds(
            "AP-10",
            "reading",
            f"{PAPER}, figure 2(b)",
            "The gradient mask's error grows by at least .15 from L = 16 to 256.",
            lambda d: growth(d, "gradient"),
            at_least=0.15,
        ),
        holds(
            "AP-11",
            "reading",
            f"{PAPER}, figure 2(b)",
            "Its error is at most .6 of the better of Wanda and SparseGPT at every L.",
            lambda d: of(last(d), "gradient") / of(last(d), *RIVALS),
            at_most=0.6,
        ),
        holds(
            "AP-12",
            "reading",
            f"{PAPER}, figure 2(b)",
            "The errors of Wanda and SparseGPT nowhere fall by more than .1 as L doubles.",
            lambda d: last(d).isel(regularization=0).sel({PRUNER: list(RIVALS)}).diff("length"),
            at_least=-0.1,
        ),
        refuted(
            "AP-13",
            "reading",
            f"{PAPER}, figure 2(b)",
            "From L = 64 on Wanda is better than SparseGPT.",
            lambda d: (of(last(d), "wanda") - of(last(d), "sparsegpt")).sel(length=slice(64, None)),
            at_most=0.0,
        ),
        undecided(
            "AP-14",
            "printed",
            f"{PAPER}, figure 2(b)",
            "The gradient mask's error grows less with L than Wanda's.",
            lambda d: growth(d, "gradient") - growth(d, "wanda"),
            at_most=0.0,
        ),
    ),
)
