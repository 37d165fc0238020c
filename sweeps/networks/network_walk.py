"""Do networks that have learned a random walk use its last state, and nothing but it?"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses, uses_no_others

WALK = Ladder(
    theory=jaxtheory.theories.get("random_walk"),
    task=jaxtheory.tasks.random_walk,
    network=network(jaxtheory.tasks.random_walk),
    data={
        "num_states": 6,
        "length": 13,
        "encoding_dim": 13,
        "num_sequences": 64,
        "clockwise_probability": 0.7,
    },
    long={"length": 256, "encoding_dim": 256},
    theorem={"settings": {}, "steps": 100},
    read=lambda data: {"parent_attention": data.parent_attention},
    metrics=("parent_attention",),
)
TASK, TOKENS = "random walks with p = 0.7", "the parent"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the parent / gap",
        "others": "loss without all others / gap",
        "parent_attention": "attention to the parent",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_walk",
    source="random_walk: selection of the parent",
    finding=Finding(
        "Networks that have learned a random walk use the parent: cutting the edges to it costs half of the gap or more",
        rests_on=("NW-75",),
    ),
    **parts(WALK, steps=2000),
    draw=draw,
    claims=(
        learns("NW-74", TASK, least=5),
        uses("NW-75", TASK, TOKENS),
        uses_no_others("NW-76", TASK, TOKENS, most=0.2),
    ),
)
