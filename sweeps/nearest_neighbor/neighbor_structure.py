"""How far is W from diag(xi1 I, 0, -xi2), and what is the query's logit?

W is trained on finitely many prompts.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_most,
    between,
    derived,
    exponent,
    fitted_law,
    interpretation,
    last,
    printed,
)
from jaxtheory.theories.nearest_neighbor import Config

from . import FORM, LOG, PAPER, QUICK, THEORY, B, course

ROUTES = {
    "W": ("literal", "averaged"),
    "W, labels N(0, 1)": ("literal", "gaussian"),
    "ξ, B = ∞": ("population", "averaged"),
}


def routes(*names: str) -> dict[str, list]:
    """Routes as one labeled axis."""
    algorithms, labels = zip(*(ROUTES[name] for name in names), strict=True)
    return {"route": list(names), "algorithm": list(algorithms), "labels": list(labels)}


def distance(data: xr.Dataset) -> xr.DataArray:
    """Distance of W from its structure at the last step, on the routes that train W."""
    return last(data.off_structure).sel(route=[r for r in data.route.values if "W" in str(r)])


def draw(data: xr.Dataset) -> plot.Drawing:
    """Distance of W from its structure and xi1 against the number of prompts; the query's logit.

    Distance and xi1 have a line for each route.
    """
    figure, axes = plot.panels(
        3,
        title=f"d = N = 4, t = {int(data.step[-1])}",
        across=2,
        width=4.0,
        height=3.4,
    )
    prompts = data[B].values
    for ax, values in zip(axes[0], (distance(data), last(data.xi1)), strict=False):
        for i, route in enumerate(values.route.values):
            plot.series(ax, values.sel(route=route), B, str(route), color=i, markers=True)
    first = float(distance(data).mean("seed").sel(route="W")[0])
    plot.theory(axes[0, 0], prompts, first * (prompts / float(prompts[0])) ** -0.5, r"$B^{-1/2}$")
    slope = plot.law(axes[0, 0], fitted_law(distance(data).sel(route="W"), B))
    plot.finish(
        axes[0, 0], "prompts B", r"$\|W - $diag$(\xi_1 I, 0, -\xi_2)\|_F$", f"W: {slope}", **LOG
    )
    plot.finish(axes[0, 1], "prompts B", r"$\xi_1 = $ tr $W_{11}$ / d", xscale="log")
    runs = data.sel(route="W").isel({B: -1})
    course(axes[0, 2], runs.query_logit, r"$h_q^\top W h_q$", 0)
    for color, (values, text) in enumerate(
        ((runs.xi1 - runs.xi2, r"$\xi_1 - \xi_2$"), (-runs.xi2, r"$-\xi_2$, the talk's")), start=1
    ):
        plot.theory(axes[0, 2], data.step.values, values.mean("seed").values, text, color=color)
    plot.finish(axes[0, 2], "step t", "logit of the query", f"B = {prompts[-1]}")
    for ax in axes[0, :2]:
        ax.set_xticks(prompts, [str(v) for v in prompts])
        ax.set_xticks([], minor=True)
    return figure


FIGURE = Figure(
    name="neighbor_structure",
    source=FORM,
    finding=Finding(
        "The query's mean logit is ξ₁ − ξ₂ within 0.02, and not the printed −ξ₂ within 0.1 (d = N = 4, t = 300)",
        rests_on=("NN-34", "NN-35"),
    ),
    theory=THEORY,
    config=Config(),
    sweep={
        "zip": routes(*ROUTES),
        "vary": {B: [500, 2000, 8000]},
        "seeds": 16,
        "steps": 300,
        "record": [0, 20, 40, 70, 100, 150, 200, 300],
        "dtype": "float32",
        "buckets": "pad",
    },
    quick=QUICK | {"zip": routes("W", "ξ, B = ∞"), "vary": {B: [500]}},
    draw=draw,
    claims=(
        Claim(
            "NN-31",
            origin=interpretation(PAPER, "proposition on the form of W"),
            statement="For W “the weights has the form” diag(xi1 I, 0, -xi2), read as: the distance from it falls as B^(-1/2), with averaged and with drawn labels: the exponent of B is near -1/2.",
            measure=Measure(
                "exponent of |W − diag(ξ1 I, 0, −ξ2)| in B, averaged and drawn labels",
                lambda data: exponent(distance(data), B),
            ),
            bound=between(-0.65, -0.35),
            why="The proof rests on this form, which holds on infinitely many prompts only.",
        ),
        Claim(
            "NN-34",
            origin=printed("the talk", "proof sketch: last entry of the softmax"),
            statement="The query's logit h_q^T W h_q is “-\\xi_2^{(t)}”, measured within 0.1.",
            measure=Measure(
                "distance of the query's mean logit from −ξ2, t = 300, for each B",
                lambda data: abs(last(data.query_logit + data.xi2)).sel(route="W"),
            ),
            bound=at_most(0.1),  # 3.85 = xi1
            expect="fails",
            why="The talk prints this logit, and the sign of the missing term decides who is attended.",
        ),
        Claim(
            "NN-35",
            origin=derived(),
            statement="The query's logit is xi1 - xi2, within 0.02.",
            measure=Measure(
                "distance of the query's mean logit from ξ1 − ξ2, t = 300, for each B",
                lambda data: abs(last(data.query_logit - data.xi1 + data.xi2)).sel(route="W"),
            ),
            bound=at_most(0.02),
            why="It corrects the talk, and explains why xi2 has to grow along with xi1.",
        ),
    ),
)
