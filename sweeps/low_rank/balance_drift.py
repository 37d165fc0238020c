"""How fast does gradient descent drift away from the conservation laws of gradient flow?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import between, derived, exponent, fitted_law
from jaxtheory.theories.low_rank import S1

from . import final, only, panels, pick, runs

STEPS = [60, 80, 120, 160, 240]
FLOW: dict[str, list] = {"learning_rate": [30 / steps for steps in STEPS], "steps": STEPS}


def drift(data: xr.Dataset) -> xr.DataArray:
    """The exponent of eta in the drift from each law at equal eta t."""
    means = final(data.balance_drift).mean("seed", skipna=False)
    return exponent(means, data.learning_rate)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The drift against eta, with slope 1."""
    figure, (ax,) = panels(1, "Drift from the conservation laws at ηt = 30", width=4.2)
    eta = data.learning_rate.values
    for color, name in enumerate(data.law.values):
        values = final(data.balance_drift).sel(law=name)
        text = f"{name}, {plot.law(ax, fitted_law(values, 'learning_rate'))}"
        plot.series(ax, values, "learning_rate", text, color=color)
        first = float(values.mean("seed")[0])
        plot.theory(ax, eta, first * eta / eta[0], "" if color else "∝ η", color=color)
    plot.finish(ax, "step size η", "relative drift", xscale="log", yscale="log")
    plot.ticks(ax.xaxis, eta)
    return figure


FIGURE = Figure(
    name="balance_drift",
    source="derived: conservation laws of gradient flow",
    theory=only(),
    config=S1,
    sweep=runs(240, zip=FLOW, record={"balance_drift": STEPS, "loss": [0, 240]}, dtype="float64"),
    quick={
        "zip": pick(FLOW, 0, 2),
        "seeds": 2,
        "steps": 120,
        "record": {"balance_drift": [60, 120], "loss": [0]},
    },
    draw=draw,
    claims=(
        Claim(
            "LR-79",
            origin=derived(),
            statement="W_O^T W_O - W_V W_V^T and W_Q W_Q^T - W_K W_K^T, which gradient flow conserves, drift in proportion to eta at equal eta t: both exponents are 0.8 to 1.25.",
            measure=drift,
            bound=between(0.8, 1.25),
            minimum=2,
            why="The two laws tie W_O to W_V and W_Q to W_K, so that one rank argument serves for both of a pair.",
        ),
    ),
)
