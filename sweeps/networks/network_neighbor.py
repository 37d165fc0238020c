"""Do networks that have learned to answer use the nearest example, and nothing but it?"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses, uses_no_others

PROMPTS = Ladder(
    theory=jaxtheory.theories.get("nearest_neighbor"),
    task=jaxtheory.tasks.nearest_neighbor,
    network=network(jaxtheory.tasks.nearest_neighbor),
    data={"dimension": 3, "context": 4, "num_prompts": 64, "num_test": 1000},
    long={"context": 255},
    theorem={"settings": {}, "steps": 2000},
    read=lambda data: {"nearest_attention": data.nearest_attention},
    metrics=("nearest_attention",),
)
TASK, TOKENS = "the label of the nearest of four examples", "the nearest example"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the nearest / gap",
        "others": "loss without all others / gap",
        "nearest_attention": "attention to the nearest",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_neighbor",
    source="nearest_neighbor: attention to the nearest example",
    finding=Finding(
        "Networks that have learned use the nearest example: cutting the edges to it costs half of the gap or more",
        rests_on=("NW-81",),
    ),
    **parts(PROMPTS, steps=2000),
    draw=draw,
    claims=(
        learns("NW-80", TASK, least=4),
        uses("NW-81", TASK, TOKENS),
        uses_no_others("NW-82", TASK, TOKENS),
    ),
)
