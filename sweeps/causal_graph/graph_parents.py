"""Does the first layer find the parent of each token, and does the model then solve the task?

A1 is trained for 100 steps and A2 after that, on chains, random trees and pairs.
"""

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    derived,
    last,
    printed,
)
from jaxtheory.theories.causal_graph import model

from . import GRADIENT, PLAIN, QUICK, SMALL, THEORY, level

ABSTRACT = f"{GRADIENT}, abstract"
STAGE = 100  # the steps of stage one
GRAPHS = ["chain", "tree", "pairs"]


def attention(params: model.Params, _problem: model.Problem, config: model.Config) -> Array:
    """The first attention W."""
    return model.first_attention(params, config)


def parents(
    _params: model.Params, problem: model.Problem, _config: model.Config
) -> Float[Array, " T"] | Int[Array, " T"]:
    """p(i), counted from 1; 0 where a token has none."""
    return problem.parents.astype(jnp.float32)


def after_stage(values: xr.DataArray) -> xr.DataArray:
    """At the end of stage one."""
    return values.sel(step=STAGE, drop=True)


def solved(data: xr.Dataset) -> xr.DataArray:
    """The share of the way from the unigram level to the posterior mean that training has made."""
    start, best = level(data, "unigram"), level(data, "bayes")
    return (start - last(data.test_loss)) / (start - best)


def draw(data: xr.Dataset) -> plot.Drawing:
    """W of one run after stage one for each graph, with circles at the parents."""
    figure, (axes,) = plot.panels(
        len(data.graph),
        title="W of one run after stage one; circles: the parents; gray: tokens without one",
        width=3.0,
        height=2.9,
    )
    for ax, graph in zip(axes, data.graph.values, strict=True):
        one = data.sel(graph=graph).isel(seed=0)
        W = after_stage(one.attention)
        ends = {name: np.arange(1, W.sizes[name] + 1) for name in ("token", "attended")}
        plot.heat(ax, W.assign_coords(ends), "attended", "token", label="W", vmin=0, vmax=1)
        p = one.parents.isel(step=0).values
        has = np.flatnonzero(p > 0)
        style = {"facecolors": "none", "edgecolors": plot.COLORS[1], "lw": 0.9}
        ax.scatter(p[has] - 0.5, has + 0.5, s=14, **style)
        for row in np.flatnonzero(p == 0):
            ax.axhspan(row, row + 1, color="#bbbbbb", linewidth=0)
        ax.invert_yaxis()
        plot.finish(ax, "attended token j", "token i", str(graph), legend=False)
    return figure


FIGURE = Figure(
    name="graph_parents",
    source=f"{GRADIENT}, figures of A1 against the adjacency",
    finding=Finding(
        "The first layer finds each parent on chains, trees and pairs, in each run",
        rests_on=("CG-1",),
    ),
    theory=THEORY,
    config=SMALL.replace(switch_step=STAGE),
    sweep=PLAIN
    | {
        "vary": {"graph": GRAPHS},
        "algorithm": "two_stage",
        "steps": 200,
        "record": [0, 1, 2, 5, 10, 20, 50, 100, 110, 125, 150, 200],
        "observe": {"attention": attention, "parents": parents},
        "dims": {"attention": ("token", "attended"), "parents": ("token",)},
    },
    quick=QUICK
    | {
        "config": QUICK["config"].replace(switch_step=STAGE),
        "vary": {"graph": ["chain", "tree"]},
        "steps": 110,
        "record": [0, 1, 10, 100, 110],
    },
    draw=draw,
    claims=(
        Claim(
            "CG-1",
            origin=printed(ABSTRACT),
            statement="“gradient descent on a simplified two-layer transformer learns to solve this task by encoding the latent causal graph in the first attention layer”: after stage one the largest entry of W is at the parent in each row that has one, in each run, for chains, trees and pairs.",
            measure=Measure(
                "share of rows with largest W at the parent after stage one, each graph",
                lambda data: after_stage(data.parent_selected),
            ),
            bound=at_least(1.0),
            q=1,
            why="The mechanism that the source states, seen in the weights.",
        ),
        Claim(
            "CG-2",
            origin=derived("measured: attention after stage one"),
            statement="After stage one W_{i, p(i)} is at least 0.95, the mean over tokens with a parent, for chains, trees and pairs.",
            measure=Measure(
                "mean W_{i, p(i)} (tokens with a parent) after stage one, each graph",
                lambda data: after_stage(data.parent_attention),
            ),
            bound=at_least(0.95),
            why="A head that counts pairs has the entry 1, and 100 steps come near.",
        ),
        Claim(
            "CG-4",
            origin=derived("measured: the gap of short prompts"),
            statement="On chains with T = 16 the loss ends at most 3/4 of the way from the unigram level to that of the posterior mean.",
            measure=Measure(
                "loss's share of the way from unigram to posterior mean, chains, T = 16",
                lambda data: solved(data).sel(graph="chain"),
            ),
            bound=at_most(0.75),
            why="An output that is a share of attention cannot add a constant α to a count, as the posterior mean does.",
        ),
    ),
)
