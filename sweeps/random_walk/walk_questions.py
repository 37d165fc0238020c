"""Are the two question-answering tasks learned: is the average of the tokens enough?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, between, derived, interpretation
from jaxtheory.theories.random_walk import QA1

from . import PAPER, THEORY

SHOWN = {"accuracy": "accuracy", "kl": "KL(answer || output), nats"}
TASKS = {"qa1": ("task 1, majority", "answer known"), "qa2": ("task 2, preference", "fair coin")}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Accuracy and KL in t, a color per task; dashed: an answer known, or a coin thrown between
    the two fruits.
    """
    figure, axes = plot.panels(
        len(SHOWN), title="The average of the tokens is enough for one task alone"
    )
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
    source=f"{PAPER}, question answering",
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
    # measured on key 100 at t = 100: accuracies 1 and 0.493, KL 0.614 and 0.706
    claims=(
        Claim(
            "RW-38",
            origin=interpretation(PAPER, "task 1"),
            statement="The average of the tokens determines the answer, read as an accuracy of at least 0.98 at t = 100.",
            measure=lambda data: data.accuracy.sel(task="qa1", step=100),
            bound=at_least(0.98),
        ),
        Claim(
            "RW-39",
            origin=interpretation(PAPER, "task 2"),
            statement="The average says nothing about the answer, read as an accuracy of one half at t = 100.",
            measure=lambda data: data.accuracy.sel(task="qa2", step=100),
            bound=between(0.42, 0.58),
        ),
        Claim(
            "RW-40",
            origin=derived(),
            statement="Task 1 is answered long before the output is certain: at t = 100 the KL divergence is 0.5 nats to log 2 - 0.05.",
            measure=lambda data: data.kl.sel(task="qa1", step=100),
            bound=between(0.5, 0.643),
        ),
        Claim(
            "RW-41",
            origin=interpretation(PAPER, "task 2"),
            statement="The KL divergence stays near log 2, that of a fair coin, read as 0.65 to 0.73 nats at t = 100.",
            measure=lambda data: data.kl.sel(task="qa2", step=100),
            bound=between(0.65, 0.73),
        ),
    ),
)
