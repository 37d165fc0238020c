"""Does W go to the max-margin direction that selects the parent?"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

import jaxtheory
from jaxtheory import Claim, Figure, observables, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last
from jaxtheory.theories.random_walk import model

from . import CIRCLE6, ETA, THEORY, P

MARGIN = "margin_direction"
STATES, TOKENS, RHO = 6, 33, 201 / 2
CONFIG = CIRCLE6.replace(num_states=STATES, length=TOKENS, encoding_dim=200)
SMALL, USUAL = 0.05, 1.0  # rates: small ones are below the first


def solution() -> np.ndarray:
    """The smallest W that gives the parent a margin of 1 for each pair of states.

    A pair is the parent's state and another token's. W is in the orthonormal coordinates
    u / rho^(1/2), w / rho.
    """
    of_parent, of_other = np.divmod(np.arange(STATES**2), STATES)
    s = np.repeat(of_other[:, None], TOKENS, axis=1)
    s[:, -2] = of_parent
    tokens = RHO**0.5 * np.eye(STATES)[s]
    tokens[:, -1] = 0  # the query has no token
    positions = np.broadcast_to(RHO * np.eye(TOKENS), (len(s), TOKENS, TOKENS))
    keys = np.concatenate([tokens, positions], axis=2)
    return jaxtheory.max_margin(keys, np.ones((len(s), 1)), np.full(len(s), TOKENS - 2))


def coordinates(params: Any, problem: Any, config: Any) -> Array:
    """W in the coordinates of the solution."""
    del problem
    (u, w), (of_u, of_w) = model.scores(params, config), model.rates(config)
    return jnp.concatenate([u / jnp.sqrt(of_u), w / jnp.sqrt(of_w)])[:, None]


def draw(data: xr.Dataset) -> plot.Drawing:
    """Cosine of W and the max-margin solution in t for each rate, and attention on the parent."""
    at = f"K = {STATES}, N = {TOKENS}"
    figure, ((cosine, parent),) = plot.panels(2, title=at)
    runs = data.isel({P: data.sizes[P] // 2}, drop=True).isel(step=data.step.values >= 1)
    for ax, name in ((cosine, MARGIN), (parent, "parent_attention")):
        for color, eta in zip(plot.shades(data.sizes[ETA]), data[ETA].values, strict=True):
            values = runs[name].sel({ETA: eta}, drop=True)
            plot.series(ax, values, "step", f"η = {eta:g}", color=color)
    middle = float(data[P][data.sizes[P] // 2])
    plot.finish(cosine, "step t", "cosine with the solution", f"p = {middle:g}", xscale="log")
    plot.finish(parent, "step t", "attention on the parent", f"p = {middle:g}", xscale="log")
    return figure


FIGURE = Figure(
    name="walk_margin",
    source="derived: attention as max-margin token selection (arXiv 2308.16898), asked of walks",
    finding=Finding(
        "W nears its max-margin direction at η = 0.01 and 0.03 (cosine ≥ 0.95 at t = 3000), but not at η = 1 (≤ 0.2)",
        rests_on=("RW-53", "RW-54"),
    ),
    theory=THEORY,
    config=CONFIG,
    sweep={
        "vary": {ETA: [0.01, 0.03, 0.1, USUAL], P: [0.5, 0.7, 0.9]},
        "seeds": 16,
        "steps": 3000,
        "record": [0, 1, 2, 3, 5, 10, 30, 100, 300, 1000, 3000],
        "observe": {MARGIN: observables.margin_direction(solution(), coordinates)},
        "dtype": "float32",
    },
    quick={
        "vary": {ETA: [0.01, USUAL], P: [0.7]},
        "seeds": 2,
        "steps": 100,
        "record": [0, 1, 2, 100],
    },
    draw=draw,
    # keys 100, 101: 0.976, 0.977; 0.124, 0.125
    claims=(
        Claim(
            "RW-53",
            origin=derived("measured"),
            statement="With small steps, η = 0.01 and 0.03, W nears the smallest matrix that gives the parent a margin over all other tokens: their cosine is at least 0.95 at t = 3000, at each p.",
            measure=Measure(
                "cosine of W and max-margin matrix, t = 3000, η = 0.01, 0.03, each p",
                lambda data: last(data[MARGIN]).sel({ETA: slice(None, SMALL)}),
            ),
            bound=at_least(0.95),
            panel=0,
            why="The theory of max-margin token selection keeps V fixed, and here V is trained along with W.",
        ),
        Claim(
            "RW-54",
            origin=derived("measured"),
            statement="At η = 1 W does not near the smallest matrix that gives the parent a margin over all other tokens: their cosine is at most 0.2 at t = 3000, at each p.",
            measure=Measure(
                "cosine of W and max-margin matrix, t = 3000, η = 1, each p",
                lambda data: last(data[MARGIN]).sel({ETA: USUAL}),
            ),
            bound=at_most(0.2),
            panel=0,
            why="One large step makes most of W, and what selects the parent afterwards turns W only as the logarithm of t.",
        ),
    ),
)
