"""Are the two question-answering tasks learned: is the average of the tokens enough?

The paper's abstract speaks of simple tasks "beyond random walks"; that they are these two, and how
they are drawn, is known at second hand only.
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, between, derived, interpretation, last
from jaxtheory.theories.random_walk import QA1

from . import PAPER, THEORY

SHOWN = {"accuracy": "accuracy", "kl": "KL(answer || output), nats"}
TASKS = {"qa1": ("task 1, majority", "answer known"), "qa2": ("task 2, preference", "fair coin")}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Accuracy and KL in t, a color per task.

    Dashed: an answer known, or a coin thrown between the two fruits.
    """
    figure, axes = plot.panels(len(SHOWN))
    for ax, (name, label) in zip(axes[0], SHOWN.items(), strict=True):
        for color, task in enumerate(data.task.values):
            runs = data.sel(task=task).isel(step=slice(1, None))
            text, limit = TASKS[str(task)]
            plot.series(ax, runs[name], "step", text, color=color, markers=False)
            plot.theory(ax, 0, float(runs[f"predicted_{name}"].mean()), limit, color=color)
        plot.finish(ax, "step t", label)
    return figure


FIGURE = Figure(
    name="walk_questions",
    source=f"{PAPER}, abstract; the tasks at second hand",
    finding=Finding(
        "From σ = 0.01 accuracy on a task whose two answers have equal token averages is within 0.05 of 1/2 at t = 400",
        rests_on=("RW-39",),
    ),
    theory=THEORY,
    config=QA1,
    sweep={
        "zip": {"task": ["qa1", "qa2"], "length": [17, 19]},
        "seeds": 8,
        "steps": 400,
        "record": [0, *range(10, 401, 10)],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick={
        "zip": {"task": ["qa1"], "length": [17]},
        "seeds": 2,
        "steps": 200,
        "record": [0, *range(10, 201, 10)],
    },
    draw=draw,
    # measured on key 100 at t = 400: accuracies 1 and 0.493 (standard error 0.008)
    claims=(
        Claim(
            "RW-39",
            origin=interpretation(PAPER, "abstract"),
            statement="“gradient descent with small initialization may fail or struggle to converge to a good solution in certain simple tasks even beyond random walks”, read as task 2, whose two answers give the same average of the tokens: from sigma = 0.01 the accuracy is still one half at t = 400, within 0.05.",
            measure=Measure(
                "accuracy on task 2 (preference) at t = 400, from σ = 0.01",
                lambda data: last(data.accuracy).sel(task="qa2"),
            ),
            bound=between(0.45, 0.55),
            law=0.5,
            panel=0,
            why="The failure at p = 1 is one case of a larger one: attention that starts as an average of uninformative tokens.",
        ),
        Claim(
            "RW-38",
            origin=derived(),
            statement="Task 1, whose answer the average of the tokens determines, is learned from sigma = 0.01: an accuracy of at least 0.98 at t = 400.",
            measure=Measure(
                "accuracy on task 1 (majority) at t = 400, from σ = 0.01",
                lambda data: last(data.accuracy).sel(task="qa1"),
            ),
            bound=at_least(0.98),
            panel=0,
            why="The contrast shows that the uninformative average is to blame, and not the length of the sentence.",
        ),
    ),
)
