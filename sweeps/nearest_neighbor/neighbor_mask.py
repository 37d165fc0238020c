"""Does training need the mask sigma, and what does it do?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived, interpretation, last
from jaxtheory.theories.nearest_neighbor import Config

from . import LOG, PAPER, QUICK, ROWS, RUNS, SIGMA, THEORY, course, settings, started

PANELS = {
    "test_loss": (2, "2 L on test prompts"),
    "xi2": (1, r"$\xi_2$"),
    "query_attention": (1, r"attention on the query, mean $s_q$"),
}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, xi2 and the query's attention for every sigma, a row per setting."""
    figure, axes = plot.panels(
        3,
        data.sizes["setting"],
        width=3.8,
        height=2.8,
    )
    for row, setting in zip(axes, data.setting.values, strict=True):
        runs = started(data).sel(setting=setting)
        for ax, (name, (factor, label)) in zip(row, PANELS.items(), strict=True):
            for color, sigma in zip(
                plot.shades(data.sizes[SIGMA]), data[SIGMA].values, strict=True
            ):
                course(ax, factor * runs[name].sel({SIGMA: sigma}), f"σ = {sigma:g}", color)
            if name == "xi2":
                law = runs.predicted_xi2_valley.isel({SIGMA: 0, "seed": 0})
                plot.theory(ax, runs.step.values, law.where(runs.step >= 50).values, "valley")
            scales = LOG | {"yscale": "linear"} if name == "xi2" else LOG
            plot.finish(ax, "step t", label, str(setting), legend=False, **scales)
    plot.legend_below(figure, axes[0, 1])
    return figure


FIGURE = Figure(
    name="neighbor_mask",
    source=f"{PAPER}, theorem: sigma = Omega(poly(d))",
    finding=Finding(
        "Without an initial mask the mean squared test error is at most 0.2 at t = 2000 (d = N = 4; d = 8, N = 16)",
        rests_on=("NN-11",),
    ),
    theory=THEORY,
    config=Config(),
    sweep=RUNS
    | {"zip": settings(ROWS[:3:2], omitted=SIGMA), "vary": {SIGMA: [0.0, 1.0, 5.0, 10.0]}},
    quick=QUICK | {"zip": settings(ROWS[:1], omitted=SIGMA), "vary": {SIGMA: [0.0, 5.0]}},
    draw=draw,
    claims=(
        Claim(
            "NN-11",
            origin=derived(),
            statement="No mask is needed: the layer is trained without one, with 2 L(2000) <= 0.2 at sigma = 0.",
            measure=Measure(
                "2 L on test prompts at t = 2000, σ = 0, for each (d, N)",
                lambda data: 2 * last(data.test_loss).sel({SIGMA: 0.0}),
            ),  # 0.12
            bound=at_most(0.2),
            diverged="violates",
            panel=0,
            why="The theorem asks for a mask that grows with d, and training finds its own.",
        ),
        Claim(
            "NN-14",
            origin=interpretation("the talk: the mask keeps the query from attending to itself"),
            statement="The mask is “to prevent the query from attending to itself”, read as: at sigma = 10 that attention stays below 0.02 up to t = 2000.",
            measure=Measure(
                "mean attention of the query on itself, σ = 10, each t and (d, N)",
                lambda data: data.query_attention.sel({SIGMA: 10.0}),
            ),
            bound=at_most(0.02),
            panel=2,
            why="It is what the mask is for, and at the start it works.",
        ),
    ),
)
