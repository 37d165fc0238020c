"""What is pre-trained W worth downstream, against training from scratch and logistic regression?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation

from . import PAPER, RECORD, SAMPLES, SWEEP, TAU, THEORY, TRAINED, Config, accuracy, curves, table

SIZE = "(4, 6)"
FITTED = (20, 60, 100, 200)  # samples of the fitted logistic regressions, 1000 steps each


def kinds(
    names: list[str], sizes: list[tuple[int, int, int]], fits: tuple[int, ...]
) -> dict[str, list]:
    """A zip over sizes (n, d, D) and kinds of training, fitted logistic regressions last."""
    rows = []
    for n, d, groups in sizes:
        size, online = f"({d}, {groups})", (SAMPLES, TAU, TAU + SAMPLES, 0.1)
        rows += [(f"{name}, {size}", *TRAINED[name], n, d, groups, *online) for name in names]
        rows += [
            (f"fit {m}, {size}", "logistic_fit", "frozen", n, d, groups, m, 0, 1000, 1.0)
            for m in fits
        ]
    return table(
        "run algorithm attention num_samples group_dim num_groups "
        "downstream_samples pretraining_steps steps downstream_rate",
        rows,
    )


def curve(data: xr.Dataset, kind: str, size: str = SIZE) -> xr.DataArray:
    """The downstream accuracy of one kind of training against the number of samples."""
    return accuracy(data.sel(run=f"{kind}, {size}", drop=True))


def fitted(data: xr.Dataset, size: str = SIZE) -> xr.DataArray:
    """The accuracy of logistic regression after 1000 steps on m samples."""
    names = [f"fit {m}, {size}" for m in FITTED]
    accuracies = data.accuracy.sel(run=names, step=1000, drop=True)
    return accuracies.assign_coords(run=list(FITTED)).rename(run="samples")


def gain(data: xr.Dataset, kind: str, low: int, high: int) -> xr.DataArray:
    """Accuracy with W frozen minus another kind's, for (d, D) = (4, 6).

    It is over numbers of samples from low to high.
    """
    return (curve(data, "W frozen") - curve(data, kind)).sel(samples=slice(low, high))


def draw(data: xr.Dataset) -> plot.Drawing:
    """A panel per (d, D): accuracy against the number of samples."""
    sizes = list(dict.fromkeys("(" + str(name).partition(", (")[2] for name in data.run.values))
    figure, axes = plot.panels(len(sizes), width=4.6, height=3.2, title="η₂ = 0.1, γ = 0.2")
    for ax, size in zip(axes[0], sizes, strict=True):
        runs = {kind: curve(data, kind, size) for kind in TRAINED if f"{kind}, {size}" in data.run}
        if f"fit 20, {size}" in data.run:
            runs["logistic, fitted"] = fitted(data, size)
        curves(ax, runs, f"(d, D) = {size}")
    return figure


FIGURE = Figure(
    name="groups_downstream",
    source=f"{PAPER}, downstream experiments; numbers are ours",
    finding=Finding(
        "The pre-trained W, frozen, gains at least 0.15 accuracy over scratch at 20 to 100 samples (d = 4, D = 6)",
        rests_on=("GS-27",),
    ),
    theory=THEORY,
    config=Config(),
    sweep={
        **SWEEP,
        "zip": kinds(list(TRAINED), [(500, 4, 6), (200, 2, 4)], FITTED),
        "seeds": 24,
        "steps": 1000,
        "record": [*RECORD, 1000],
        "buckets": "pad",
    },
    quick={
        "zip": kinds(["W frozen"], [(500, 4, 6)], ()),
        "seeds": 2,
        "steps": TAU + SAMPLES,
        "record": RECORD,
    },
    draw=draw,
    claims=(
        Claim(
            "GS-27",
            origin=interpretation(PAPER, "theorem"),
            statement="What “utilizing the pre-trained” W gains is read as: in the setting (4, 6), the accuracy with W frozen is above that of training from scratch by at least 0.15, from 20 to 100 samples.",
            measure=Measure(
                "accuracy, W frozen minus scratch, each n = 20 to 100, d = 4, D = 6",
                lambda d: gain(d, "from scratch", 20, 100),
            ),
            bound=at_least(0.15),
            why="It is what pre-training is for: the selection carries over to another classifier.",
        ),
    ),
)
