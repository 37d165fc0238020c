"""Are P and Q still recovered from mini-batches with momentum, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Figure, optimisers, plot

from . import ETA, PAPER, QUICK, THEORY, Config, derived, ends, right, right_sign

LATE = "late_learning_rate"
RATES = {
    "proximal": [0.02, 0.05],
    "sgd": [0.01, 0.02, 0.05],
    "momentum": [0.001, 0.002, 0.005],
    "sgd_cosine": [0.02, 0.04, 0.1],
    "adam": [0.0003, 0.001, 0.003, 0.01],
}
MIDDLE = {algorithm: rates[1:2] for algorithm, rates in RATES.items()}
LABELS = {"proximal": "proximal (algorithm 1)"} | optimisers.LABELS
SHOWN = {
    "attention_cosine": "cosine of A and Q",
    "value_cosine_centred": r"cosine of $V - \mu 1^\top$ and $P - \mu 1^\top$",
    "support_recovery": "columns with the right support",
    "excess_loss": "excess loss",
}


def runs(rates: dict[str, list[float]]) -> dict[str, list]:
    """The axis `run`, with one rate in both stages."""
    made = optimisers.runs(ETA, rates)
    return made | {LATE: made[ETA]}


def of(data: xr.Dataset, name: str, *algorithms: str) -> xr.DataArray:
    """A metric at the end of the runs of the right sign of some algorithms, slowest rate first."""
    return xr.concat(
        [optimisers.of(ends(data, name), ETA, a).drop_vars("rate") for a in algorithms], "algorithm"
    )


def draw(data: xr.Dataset) -> plot.Drawing:
    """What is learned at the end by the runs of the right sign, and their share, against the
    learning rate.
    """
    title = f"N = 3, T = 200, B = 128, t = {int(data.step[-1])}, {data.sizes['seed']} seeds"
    figure, axes = plot.panels(5, title=title, width=3.0, height=3.4)
    share = right_sign(data).astype(float)
    for ax, (values, label) in zip(
        axes[0],
        [(share, "share of runs of the right sign")]
        + [(ends(data, name, right_sign), label) for name, label in SHOWN.items()],
        strict=True,
    ):
        optimisers.against_rate(ax, values, ETA, LABELS)
        scale = "log" if "loss" in label else "linear"
        plot.finish(ax, "learning rate", label, xscale="log", yscale=scale, legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="bigram_optimisers",
    source=f"derived: {PAPER}, theorem 4.1, beyond algorithm 1",
    theory=THEORY,
    config=Config(length=200, batch_size=128, switch_step=300, decay_steps=600),
    sweep={
        "zip": runs(RATES),
        "seeds": 12,
        "steps": 600,
        "record": [0, 300, 600],
        "dtype": "float32",
        "buckets": "exact",
    },
    quick=QUICK | {"zip": runs(MIDDLE)},
    draw=draw,
    claims=(),
)
