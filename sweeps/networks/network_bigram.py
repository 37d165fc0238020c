"""Do networks that have learned contextual bigrams use the attended position, and nothing but it?"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses, uses_no_others

BIGRAMS = Ladder(
    theory=jaxtheory.theories.get("contextual_bigram"),
    task=jaxtheory.tasks.contextual_bigram,
    network=network(jaxtheory.tasks.contextual_bigram),
    data={
        "num_states": 3,
        "length": 12,
        "sparsity": 1,
        "batch_size": 64,
        "concentration": 0.1,
    },
    long={"length": 256},
    theorem={"settings": {}, "steps": 1000},
    read=lambda data: {"closed": 1 - data.relative_excess_loss},  # of squares
    metrics=("attended_attention",),
)
TASK, TOKENS = "contextual bigrams", "the attended position"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the attended / gap",
        "others": "loss without all others / gap",
        "attended_attention": "attention to the attended",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_bigram",
    source="contextual_bigram: recovery of the attended positions",
    finding=Finding(
        "Networks with AdamW and the block that have learned bigrams use nothing but the attended position",
        rests_on=("NW-83", "NW-85"),
    ),
    **parts(BIGRAMS, steps=2000),
    draw=draw,
    claims=(
        learns("NW-83", TASK),
        uses("NW-84", TASK, TOKENS),
        uses_no_others("NW-85", TASK, TOKENS),
    ),
)
