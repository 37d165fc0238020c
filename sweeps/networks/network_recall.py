"""Do networks that have learned facts use the subject and the relation of a prompt, and nothing else?

The tokens of a prompt stand in random order before an end token, at which the answer is read.
"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts, uses, uses_no_others


def closed(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """The share of the gap from the best answer without the prompt that the theorem's model closes."""
    gap = data.predicted_loss_subject + data.predicted_loss_relation
    return {"closed": 1 - data.test_loss / gap}


FACTS = Ladder(
    theory=jaxtheory.theories.get("factual_recall"),
    task=jaxtheory.tasks.factual_recall,
    network=network(jaxtheory.tasks.factual_recall),
    data={
        "num_subjects": 8,
        "num_relations": 4,
        "num_answers": 4,
        "num_noise": 16,
        "length": 6,
        "num_draws": 4,
    },
    long={"num_noise": 1024, "length": 256},
    theorem={"settings": {"learning_rate": 0.5}, "steps": 1000},
    read=closed,
    metrics=("accuracy", "relation_mass", "subject_attention", "relation_attention"),
)
TASK, TOKENS = "32 facts", "the subject and the relation"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the attention to the tokens, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without both tokens / gap",
        "others": "loss without all others / gap",
        "subject_attention": "attention to the subject",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_recall",
    source="factual_recall: attention to the subject and the relation",
    finding=Finding(
        "Networks that have learned facts use the subject and the relation: without them half of the gap or more is lost",
        rests_on=("NW-104",),
    ),
    **parts(FACTS, steps=600),
    draw=draw,
    claims=(
        learns("NW-103", TASK),
        uses("NW-104", TASK, TOKENS),
        uses_no_others("NW-105", TASK, TOKENS),
    ),
)
