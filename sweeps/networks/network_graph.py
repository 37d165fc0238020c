"""Do networks that have learned chains in context use the parents of tokens, as the theorem says?

The small network has two layers of one head: one layer cannot see the parent of a token.
"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses

CHAINS = Ladder(
    theory=jaxtheory.theories.get("causal_graph"),
    task=jaxtheory.tasks.causal_graph,
    network=network(jaxtheory.tasks.causal_graph),
    data={"num_states": 3, "length": 16, "num_prompts": 64, "first": "uniform"},
    long={"length": 256},
    theorem={"settings": {}, "steps": 100},
    read=lambda data: {"parent_attention": data.parent_attention},
    metrics=("parent_attention", "children_attention"),
    depth=2,
)
TASK, TOKENS = "chains of three states", "the parents"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the parents / gap",
        "parent_attention": "attention to the parents",
        "children_attention": "attention to the children",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_graph",
    source="causal_graph: the first layer selects the parents",
    finding=Finding(
        "Networks that have learned chains in context use the parents: without these edges half of the gap or more is lost",
        rests_on=("NW-87",),
    ),
    **parts(CHAINS, steps=2000),
    draw=draw,
    claims=(
        learns("NW-86", TASK, least=4),
        uses("NW-87", TASK, TOKENS),
    ),
)
