"""Do networks that have learned 64 tasks in context answer fresh tasks as well as their own?"""

import xarray as xr

import jaxtheory
from jaxtheory import Figure, plot
from jaxtheory.claims import Finding

from ._cells import Ladder, learns, network, panels, parts

PROMPTS = Ladder(
    theory=jaxtheory.theories.get("task_diversity"),
    task=jaxtheory.tasks.task_diversity,
    network=network(jaxtheory.tasks.task_diversity),
    data={"dimension": 4, "length": 32, "num_prompts": 32, "num_tasks": 64},
    long={"length": 255, "dimension": 8, "num_tasks": 256},
    theorem={"settings": {}, "steps": 100},
    read=lambda data: {"loss": data.icl_error, "own_loss": data.idg_error},
    metrics=("loss", "own_loss", "layer_loss", "ridge_distance"),
)
TASK = "to regress on 64 tasks"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the distances to two answers, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the examples / gap",
        "loss": "loss on fresh tasks",
        "own_loss": "loss on the training tasks",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_diversity",
    source="task_diversity: from the training tasks to all tasks",
    finding=Finding(
        "Networks that have learned 64 tasks in context answer fresh tasks as well",
        rests_on=("NW-92",),
    ),
    **parts(PROMPTS, steps=2000),
    draw=draw,
    claims=(learns("NW-91", TASK),),
)
