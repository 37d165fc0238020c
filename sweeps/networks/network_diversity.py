"""Do networks that have learned 64 tasks in context answer fresh tasks as well as their own?"""

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived

from ._cells import Ladder, learned, network, panels, parts

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
STANDARD = "AdamW, block, 2 × 4"
NOTHING = 1.01  # the loss of the answer 0, 1 + rho


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the losses on both kinds of tasks."""
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
        "A standard Transformer trained on 64 tasks answers fresh ones as well, with less loss than linear attention has",
        rests_on=("NW-91", "NW-92", "NW-99"),
    ),
    **parts(PROMPTS, steps=2000),
    draw=draw,
    claims=(
        Claim(
            "NW-91",
            origin=derived("measured"),
            statement="The standard Transformer of two layers with AdamW learns to regress on 64 tasks: on fresh tasks it closes 0.9 of the gap from the answer 0 to ridge regression.",
            measure=Measure(
                "share of the gap closed on fresh tasks, AdamW, block, 2 × 4",
                lambda data: data.closed.sel(cell=STANDARD),
            ),
            bound=at_least(0.9),
            why="It was trained on these tasks alone, and is asked about others.",
        ),
        Claim(
            "NW-92",
            origin=derived("measured"),
            statement="Networks that have learned to regress on 64 tasks answer fresh tasks as well as their own: the loss on fresh ones is larger by at most 0.05 of that of the answer 0.",
            measure=Measure(
                "loss on fresh minus own tasks, over that of the answer 0, largest of those that learned",
                lambda data: (
                    (learned(data, "loss") - learned(data, "own_loss")).max("cell") / NOTHING
                ),
            ),
            bound=at_most(0.05),
            why="With 64 tasks in four dimensions nothing is gained by remembering them.",
        ),
        Claim(
            "NW-99",
            origin=derived("measured"),
            statement="The standard Transformer of two layers with AdamW has at most 0.6 of the least loss of a layer of linear attention on fresh tasks.",
            measure=Measure(
                "loss on fresh tasks over that of the best linear layer, AdamW, block, 2 × 4",
                lambda data: (data.loss / data.layer_loss).sel(cell=STANDARD),
            ),
            bound=at_most(0.6),
            why="The theorem's layer is linear; what limits it does not limit the network.",
        ),
    ),
)
