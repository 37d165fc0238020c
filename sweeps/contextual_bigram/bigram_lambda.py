"""What do lambda and the kind of prox do: which distorts, and which denoises?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_most, derived

from . import PAPER, QUICK, STAGES, THEORY, Config, ends
from ._curves import at, tasks

LAMBDAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
KINDS = {
    "two_case": "two cases (the source's)",
    "textbook": "soft threshold",
    "simplex": "onto the simplex",
}
NOISELESS, LEAST = "dashed: two cases, no noise", "dotted: least in t"
PANELS = {
    "attention_alignment": (r"$\alpha_A$ at the end", NOISELESS, "linear"),
    "value_alignment": (r"$\alpha_V$ at the end", NOISELESS, "linear"),
    "attention_residual": (r"$\|\Delta_A\|_\mu$ at the end", "", "log"),
    "relative_excess_loss": ("excess loss / at the start", LEAST, "log"),
}


def curve(data: xr.Dataset, name: str, kind: str = "two_case") -> xr.DataArray:
    """The last values of a metric against lambda for one kind of prox, NaN where a run
    is left out.
    """
    return (
        ends(data, name)
        .isel(run=np.flatnonzero((data.prox == kind) & (data.l1 > 0)))
        .swap_dims(run="l1")
        .drop_vars("run")
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """Alphas, |Delta_A|, and excess loss at its least and at the end against lambda."""
    figure, axes = plot.panels(4, title=f"The l1 term{at(FIGURE, data)}, {tasks(data)}", width=3.4)
    kinds = {
        kind: (color, text)
        for color, (kind, text) in enumerate(KINDS.items())
        if (data.prox == kind).any()
    }
    for ax, (name, (label, title, scale)) in zip(axes[0], PANELS.items(), strict=True):
        for kind, (color, text) in kinds.items():
            plot.series(
                ax,
                curve(data, name, kind).dropna("seed", how="all"),
                "l1",
                text,
                color=color,
                markers=True,
            )
            if title == LEAST:
                low = curve(data.assign({name: data[name].min("step")}), name, kind)
                least = low.mean("seed")
                plot.reference(ax, low.l1, least, color=color, says="the least in t (colored)")
        if title == NOISELESS:  # as long as attended entries are not cut
            noiseless = curve(data, f"predicted_{name}_prox").where(
                curve(data, "predicted_attention_alignment_prox") > 0
            )
            plot.theory(ax, noiseless.l1, noiseless.mean("seed"), "two cases, no noise", color=0)
        plain = ends(data, name).isel(run=int(np.argmin(data.l1.values))).mean()
        plot.reference(ax, None, float(plain), "λ = 0 (SGD)")
        plot.finish(ax, "λ", label, title, xscale="log", yscale=scale, legend=False)
    plot.legend_below(figure, *axes[0])
    return figure


FIGURE = Figure(
    name="bigram_lambda",
    source=f"{PAPER}, sections 2.3 and 3.4, beyond its lambda = 1e-5",
    theory=THEORY,
    config=Config(length=500, batch_size=128),
    sweep={
        "zip": {
            "run": [
                "lambda = 0",
                *(
                    f"{kind}, {lam:g}"
                    for kind in KINDS
                    for lam in LAMBDAS
                    if kind != "simplex" or lam == 1e-5
                ),
            ],
            "prox": ["two_case"] * 6 + ["textbook"] * 5 + ["simplex"],
            "l1": [0.0, *LAMBDAS, *LAMBDAS, 1e-5],
        },
        **STAGES,
    },
    quick=QUICK
    | {
        "zip": {
            "run": ["lambda = 0", "two_case, 1e-3"],
            "prox": ["two_case"] * 2,
            "l1": [0.0, 1e-3],
        }
    },
    draw=draw,
    claims=(
        Claim(
            "CB-25",
            origin=derived(
                "derived: noise that is cut at zero adds mass, which the projection takes off the attended entries"
            ),
            statement="The prox distorts however small lambda is: at lambda = 1e-6, where the noiseless alpha_A is 0.99 or more, alpha_A ends at 0.8 or below on average.",
            measure=lambda d: curve(d, "attention_alignment").sel(l1=1e-6),
            bound=at_most(0.8),
            panel=0,
            why="The source blames the strength of the regularization, so that a reader would lower lambda, in vain.",
        ),
    ),
)
