"""Do networks that have learned a majority use the label's tokens, by updates of low rank?"""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import xarray as xr
from jaxtyping import Array, Float, Int

import jaxtheory
from jaxtheory import Claim, Figure, networks, plot
from jaxtheory.claims import Finding, Measure, at_most, derived

from ._cells import Ladder, Trained, learned, learns, network, panels, parts, uses, uses_no_others

RANKS = (0, 1, 2, 3, 4)
ENOUGH = 0.1  # the share of the gap that a rank may cost
CUT = ("query", "key", "value")


def costs(trained: Trained, start: Any, end: Any, problem: Any) -> Float[Array, " rank"]:
    """The loss that it costs to cut the updates of W_Q, W_K and W_V to each rank, over the gap."""
    theory, config = trained.theory, trained.config
    best, without_prompt, _ = trained.data.levels.isel(seed=0, step=-1).values

    def loss(params: Any) -> Array:
        return jnp.asarray(theory.metrics(params, problem, config)["loss"])

    def cut(rank: int) -> Any:
        one = lambda params, name: networks.cut(params, f"*/{name}/kernel", rank, start=start)
        return functools.reduce(one, CUT, end)

    losses = jnp.stack([loss(cut(rank)) for rank in RANKS])
    return (losses - loss(end)) / (without_prompt - best)


def least(cost: Float[Array, "n rank"]) -> Int[Array, " n"]:
    """The least rank which, as all larger ones, costs a tenth of the gap at most; else 5."""
    return jnp.max(jnp.where(cost > ENOUGH, jnp.arange(1, len(RANKS) + 1), 0), axis=1)


def ranks(trained: Trained) -> Mapping[str, xr.DataArray]:
    """The rank of the updates that suffices, by seed."""
    theory, _, data = trained
    cost, found = jax.jit(functools.partial(costs, trained)), []
    for seed in data.seed.values:
        start, end = (
            jaxtheory.load_params(data, theory, seed=seed, step=step)
            for step in data.step.values[[0, -1]]
        )
        found.append(cost(start, end, jaxtheory.load_problem(data, theory, seed=seed)))
    return {"rank": xr.DataArray(least(jnp.stack(found)), {"seed": data.seed}, ["seed"])}


PATTERNS = Ladder(
    theory=jaxtheory.theories.get("low_rank"),
    task=jaxtheory.tasks.low_rank,
    network=network(jaxtheory.tasks.low_rank),
    data={
        "num_patterns": 8,
        "dimension": 8,
        "query_dim": 8,
        "value_dim": 8,
        "num_samples": 300,
        "num_confusion": 0,
        "batch_size": 32,
    },
    long={"num_patterns": 64, "dimension": 64, "num_relevant": 194},
    theorem={"settings": {"num_neurons": 50}, "steps": 150},
    read=lambda data: {"relevant_attention": data.relevant_attention},
    metrics=("relevant_attention",),
    also=ranks,
)
TASK, TOKENS = "to tell two patterns apart", "the tokens of the pattern"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the rank of the updates, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the tokens / gap",
        "others": "loss without all others / gap",
        "rank": "rank of updates that suffices",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_patterns",
    source="low_rank: attention to the tokens of the label's class, and updates of low rank",
    finding=Finding(
        "Networks that have learned to tell two patterns apart use their tokens, by updates of rank 1 at most",
        rests_on=("NW-94", "NW-96"),
    ),
    **parts(PATTERNS, steps=1000),
    draw=draw,
    claims=(
        learns("NW-93", TASK),
        uses("NW-94", TASK, TOKENS, least=0.25),
        uses_no_others("NW-95", TASK, TOKENS, most=0.2),
        Claim(
            "NW-96",
            origin=derived("LR-1, in networks"),
            statement="In networks that have learned to tell two patterns apart, updates of W_Q, W_K and W_V that are cut to rank 1 suffice: cut to rank 1, or to any from 2 to 4, each loses at most 0.1 of the gap.",
            measure=Measure(
                "least rank of the updates that suffices, largest of those that learned",
                lambda data: learned(data, "rank").max("cell"),
            ),
            bound=at_most(1),
            why="In the settings of LR-2, which have tokens of both patterns, the theorem's model needs rank 2.",
        ),
    ),
)
