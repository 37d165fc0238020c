"""What do loss, value vector and attention do in pre-training, in the talk's two settings?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation

from . import ETA, PAPER, SWEEP, THEORY, Config, D, N

LARGE, SMALL = "(500, 4, 6)", "(200, 2, 4)"
PANELS = {
    "value_cosine": r"cosine of $v_1$ and $v^*$",
    "loss": "training loss",
}


def at(data: xr.Dataset, t: int) -> xr.Dataset:
    """Both settings at a step, eta = 0.5."""
    return data.sel({"step": t, ETA: 0.5}, drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """A row per setting, a panel per curve of the talk.

    Dashed: the population with all attention on j* from the start.
    """
    figure, axes = plot.panels(len(PANELS), data.sizes["setting"], width=3.2)
    data = data.isel(step=slice(1, None))
    for row, setting in zip(axes, data.setting.values, strict=True):
        for ax, (name, label) in zip(row, PANELS.items(), strict=True):
            for color, eta in enumerate(data[ETA].values):
                runs = data.sel({"setting": setting, ETA: eta})
                plot.series(ax, runs[name], "step", f"η = {eta:g}", color=color, markers=False)
                if name == "loss":
                    curve = runs.predicted_loss_selected.isel(seed=0)
                    says = "n = ∞, full selection"
                    plot.theory(ax, curve.step, curve, "", color=color, says=says)
            scale = "log" if name == "loss" else "linear"
            place = f"(n, d, D) = {setting}"
            plot.finish(ax, "step t", label, place, xscale="log", yscale=scale, legend=False)
        row[0].set_ylim(0.96, 1.002)
        row[1].set_ylim(5e-3, 1.3)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="groups_pretraining",
    source=f"{PAPER}, pre-training experiments of the talk; eta, T and the setting's attribution "
    "are ours",
    finding=Finding(
        "The value vector has a cosine of at least 0.999 with the true one v* after 100 steps (η = 0.5)",
        rests_on=("GS-2",),
    ),
    theory=THEORY,
    config=Config(),
    sweep={
        **SWEEP,
        "zip": {"setting": [LARGE, SMALL], N: [500, 200], "group_dim": [4, 2], D: [6, 4]},
        "vary": {ETA: [0.5, 0.1]},
        "seeds": 16,
        "steps": 1000,
        "record": [0, 1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 140, 200, 300, 500, 700, 1000],
    },
    quick={
        "vary": {ETA: [0.5]},
        "seeds": 2,
        "steps": 100,
        "record": [0, 1, 3, 10, 30, 100],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "GS-2",
            origin=interpretation(PAPER, "theorem: v1/|v1| near v*"),
            statement="v “successfully learns the ground truth classifier” is read as: the cosine of v1 with v* is at least 0.999 after 100 steps.",
            measure=Measure(
                "cosine of v1 and v*, t = 100, η = 0.5, for each (n, d, D)",
                lambda d: at(d, 100).value_cosine,
            ),
            bound=at_least(0.999),
            panel=0,
            why="The value vector is what the layer knows about the label, and 100 steps are enough for it.",
        ),
    ),
)
