"""Do networks that have learned to classify use the relevant group, and nothing but it?"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses, uses_no_others

GROUPS = Ladder(
    theory=jaxtheory.theories.get("group_sparse"),
    task=jaxtheory.tasks.group_sparse,
    network=network(jaxtheory.tasks.group_sparse),
    data={"group_dim": 4, "num_groups": 6, "num_samples": 64},
    long={"num_groups": 256},
    theorem={"settings": {}, "steps": 300},
    read=lambda data: {"group_attention": data.relevant_attention},
    metrics=("group_attention",),
)
TASK, TOKENS = "group-sparse classification", "the relevant group"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the group / gap",
        "others": "loss without all others / gap",
        "group_attention": "attention to the group",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_groups",
    source="group_sparse: selection of the relevant group",
    finding=Finding(
        "Networks that have learned to classify use the relevant group: cutting edges to it costs half of the gap or more",
        rests_on=("NW-78",),
    ),
    **parts(GROUPS, steps=2000),
    draw=draw,
    claims=(
        learns("NW-77", TASK),
        uses("NW-78", TASK, TOKENS),
        uses_no_others("NW-79", TASK, TOKENS),
    ),
)
