"""Do networks that have learned to regress in context answer as the theorem's layer does?

The best layer of linear attention does one step of preconditioned gradient descent.
"""

import xarray as xr

import jaxtheory
from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived

from ._cells import Ladder, learned, learns, network, panels, parts, uses

PROMPTS = Ladder(
    theory=jaxtheory.theories.get("in_context_regression"),
    task=jaxtheory.tasks.in_context_regression,
    network=network(jaxtheory.tasks.in_context_regression),
    data={"dimension": 2, "length": 39, "num_prompts": 32},
    long={"length": 255, "dimension": 8},
    theorem={"settings": {}, "steps": 1000},
    read=lambda data: {"closed": 1 - data.test_loss},  # the variance of labels is 1
    metrics=("layer_distance", "least_squares_distance", "layer_error"),
)
TASK, TOKENS = "to regress in context", "the examples"


def draw(data: xr.Dataset) -> plot.Drawing:
    """The gap that is closed, what cutting costs, and the distances to two answers, by network."""
    shown = {
        "closed": "share of the gap closed",
        "used": "loss without the examples / gap",
        "layer_distance": "distance to the best linear layer",
        "least_squares_distance": "distance to least squares",
    }
    return panels(data, shown)


FIGURE = Figure(
    name="network_regression",
    source="in_context_regression: one step of preconditioned gradient descent",
    finding=Finding(
        "With AdamW and the block, networks that have learned to regress answer like least squares, not a linear layer",
        rests_on=("NW-90",),
    ),
    **parts(PROMPTS, steps=2000),
    draw=draw,
    claims=(
        learns("NW-88", TASK, least=3),
        uses("NW-89", TASK, TOKENS),
        Claim(
            "NW-90",
            origin=derived("measured"),
            statement="Networks with AdamW, residual stream, norm and MLP that have learned to regress in context answer like least squares: the squared distance to its answer is at most half of that to the answer of the best layer of linear attention.",
            measure=Measure(
                "squared distance to least squares, over that to the best linear layer, largest of those that learned",
                lambda data: (
                    learned(data, "least_squares_distance", "AdamW, block")
                    / learned(data, "layer_distance", "AdamW, block")
                ).max("cell"),
            ),
            bound=at_most(0.5),
            why="The theorem's layer does one step of gradient descent; with softmax, norm and an MLP one layer does better than any such step.",
        ),
    ),
)
