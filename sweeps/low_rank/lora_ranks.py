"""Does LoRA of rank 1 learn what truncation to rank 1 loses?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, derived, last
from jaxtheory.theories.low_rank import S1

from . import TRUNCATED, panels, pick, runs, slanted

LEAST = 1e-5  # loss that is drawn
RANKS = [1, 2, 3, 5, 20]
RUNS: dict[str, list] = {
    "run": [f"LoRA {r}" for r in RANKS] + ["all weights"],
    "algorithm": ["lora"] * len(RANKS) + ["sgd"],
    "lora_rank": [*RANKS, 2],
}


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss in t; at the end the loss, and that of the changes cut to rank 1."""
    figure, (curves, ends) = panels(
        2, "LoRA of rank 1 learns what truncation to rank 1 loses (S1)", width=4.2
    )
    names = data.run.values
    for color, name in zip([*plot.shades(len(names) - 1), 1], names, strict=True):
        plot.series(curves, data.loss.sel(run=name), "step", name, color=color, markers=False)
    plot.finish(curves, "step t", "test hinge loss")
    at, cut = np.arange(len(names)), data.truncated_loss.sel(kept_rank=1)
    plot.dots(ends, at, last(data.loss).clip(LEAST), "trained")
    plot.dots(ends, at, cut.clip(LEAST), "changes cut to rank 1", color=1)
    ends.set_xticks(at, names)
    slanted(ends)
    plot.finish(ends, "", "test hinge loss at the end", yscale="log")
    plot.remark(figure, f"Losses below {LEAST:g} are drawn there.")
    return figure


FIGURE = Figure(
    name="lora_ranks",
    source="LoRA training against truncation",
    finding=Finding(
        "Like full training, LoRA reaches a test loss of at most 0.05 in 400 steps, even at rank 1",
        rests_on=("LR-77",),
    ),
    theory=TRUNCATED,
    config=S1,
    sweep=runs(400, zip=RUNS, record={"loss": 10}),
    quick={"zip": pick(RUNS, 0, 1), "seeds": 2, "steps": 60},
    draw=draw,
    claims=(
        Claim(
            "LR-77",
            origin=derived("measured"),
            statement="LoRA of every rank learns, including rank 1, as full training does: after 400 steps the test loss is at most 0.05.",
            measure=Measure(
                "test loss after 400 steps, each rank of LoRA and all weights",
                lambda data: last(data.loss),
            ),
            bound=at_most(0.05),
            diverged="violates",
            panel=1,
            why="Truncation to rank 1 loses the margin (LR-2), which could be mistaken for a lower limit on the rank of LoRA.",
        ),
    ),
)
