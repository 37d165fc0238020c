"""Is the W of Gaussian pre-training worth as much for other laws of the features?"""

import xarray as xr

from jaxtheory import Figure, holds, plot

from . import ACCURACY, DOWNSTREAM, PAPER, TAU, THEORY, TRAINED, Config, after

LAWS = ["gaussian", "uniform", "rademacher"]
WAYS = ["W frozen", "from scratch", "logistic, online"]


def ways(names: list[str]) -> dict[str, list]:
    """A zip over kinds of training."""
    return {
        "run": names,
        "algorithm": [TRAINED[n][0] for n in names],
        "attention": [TRAINED[n][1] for n in names],
    }


def lead(data: xr.Dataset, other: str) -> xr.DataArray:
    """Accuracy with W frozen minus another kind's, mean over 10 to 60 samples, for every law."""
    found = after(data[ACCURACY]).sel(samples=slice(10, 60)).mean("samples")
    return found.sel(run="W frozen", drop=True) - found.sel(run=other, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """A panel per law: accuracy against the number of samples."""
    figure, axes = plot.panels(
        data.sizes["features"],
        width=3.8,
        height=3.2,
        title=f"(d, D) = (4, 6), γ = .2, {data.sizes['seed']} seeds",
    )
    for ax, law in zip(axes[0], data.features.values, strict=True):
        for colour, run in enumerate(data.run.values):
            plot.series(
                ax,
                after(data[ACCURACY]).sel(features=law, run=run),
                "samples",
                str(run),
                colour=colour,
            )
        plot.finish(ax, "downstream samples", "downstream test accuracy", f"{law} features")
        ax.set_ylim(0.5, 1.01)
    return figure


FIGURE = Figure(
    name="groups_features",
    source=f"{PAPER}, theorem: any sub-Gaussian law with a margin",
    theory=THEORY,
    config=Config(pretraining_steps=TAU),
    sweep={"zip": ways(WAYS), "vary": {"features": LAWS}, **DOWNSTREAM},
    quick={"zip": ways(["W frozen"]), "vary": {"features": ["rademacher"]}, "seeds": 2},
    draw=draw,
    claims=(
        holds(
            "GS-36",
            "reading",
            f"{PAPER}, theorem",
            "From Gaussian pre-training the frozen W beats training from scratch by .1 or more "
            "over 10 to 60 samples, for every law.",
            lambda d: lead(d, "from scratch"),
            at_least=0.1,
        ),
        holds(
            "GS-37",
            "reading",
            f"{PAPER}, theorem",
            "It beats online logistic regression by .01 or more over 10 to 60 samples, for every "
            "law.",
            lambda d: lead(d, "logistic, online"),
            at_least=0.01,
        ),
    ),
)
