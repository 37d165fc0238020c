"""At which step size does descent on samples first lose the group, for growing D?"""

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import between, derived, exponent, fitted_law, last

from . import ETA, PAPER, SWEEP, THEORY, Config, D, edge

GROUPS, STEPS = [6, 7, 8, 10, 12], 200


def selects(data: xr.Dataset) -> xr.DataArray:
    """At least half of the attention is on the group at the end."""
    return last(data.relevant_attention) >= 0.5


def draw(found: xr.Dataset) -> plot.Drawing:
    """The phases over D and eta, and the boundary against D with twice the edge of stability."""
    title = f"Selection is lost at about twice the edge of stability (n = 500, t = {STEPS})"
    figure, ((heat, line),) = plot.panels(2, title=title, width=3.6, height=3.0)
    plot.phases(heat, found, D)
    plot.finish(heat, "groups D", "step size η", "share that selects", legend=False)
    fitted = plot.law(line, fitted_law(found.boundary, D))
    plot.series(line, found.boundary, D, f"selection lost, {fitted}")
    plot.theory(line, found[D], found.law.mean("seed"), "16 / (D (D + 1)): edge for the bias")
    plot.finish(line, "groups D", "step size η", xscale="log", yscale="log")
    plot.ticks(line.xaxis, found[D].values)
    return figure


FIGURE = Figure(
    name="groups_selection",
    source=f"{PAPER}, theorem: eta of order 1 for growing D",
    theory=THEORY,
    config=Config(num_samples=500),
    verb=jaxtheory.boundary,
    sweep={
        **SWEEP,
        "along": ETA,
        "between": (0.08, 2.0),
        "when": selects,
        "over": {D: GROUPS},
        "law": edge,
        "several": "first",
        "seeds": 16,
        "steps": STEPS,
        "tolerance": 0.1,
    },
    quick={
        "over": {D: [4, 6]},
        "config": Config(num_samples=200),
        "seeds": 2,
        "steps": 60,
        "tolerance": 0.3,
        "buckets": "pad",
    },
    draw=draw,
    # measured on keys 100 and 101 with D = 6, 8 and 12, 16 seeds:
    # -1.98 [-2.11, -1.85] and -2.01 [-2.35, -1.81]
    claims=(
        Claim(
            "GS-54",
            origin=derived("measured"),
            statement="Descent on 500 samples first loses the group at a step size that falls as a power of D: its exponent is within [-2.5, -1.5] for D = 6 to 12.",
            measure=lambda d: exponent(d.boundary, D),
            bound=between(-2.5, -1.5),
            why="With more groups the step size has to be smaller, so that the number of steps in the theorem does not hold for samples.",
        ),
    ),
)
