"""What do loss, value vector and attention do in pre-training, in the talk's two settings?

Long, because the two settings have nine claims.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, derived, interpretation

from . import ETA, PAPER, SWEEP, THEORY, Config, D, N

LARGE, SMALL = "(500, 4, 6)", "(200, 2, 4)"
PANELS = {
    "loss": "training loss",
    "value_cosine": r"cosine of $v_1$ and $v^*$",
    "value_norm_ratio": r"$|v_1| / |v|$",
    "relevant_attention": r"attention on group $j^*$",
}


def at(data: xr.Dataset, t: int) -> xr.Dataset:
    """Both settings at a step, eta = 0.5."""
    return data.sel({"step": t, ETA: 0.5}, drop=True)


def over(name: str, t: int, large: float, small: float) -> Callable[[xr.Dataset], xr.DataArray]:
    """The ratio of a metric at a step to the limit of each setting."""
    return lambda data: (
        at(data, t)[name] / xr.DataArray([large, small], {"setting": [LARGE, SMALL]})
    )


def overfit(data: xr.Dataset) -> xr.DataArray:
    """After 1000 steps: training loss over 0.85 of the law; the law over the test loss."""
    end = at(data, 1000)
    law = end.predicted_loss_selected
    return xr.concat([end.loss / law / 0.85, law / end.test_loss], "side")


def draw(data: xr.Dataset) -> plot.Drawing:
    """A row per setting, a panel per curve of the talk; dashed: the population with all attention
    on j* from the start.
    """
    title = "Pre-training selects the group $j^*$ = 2"
    figure, axes = plot.panels(4, data.sizes["setting"], width=3.2, title=title)
    data = data.isel(step=slice(1, None))
    for row, setting in zip(axes, data.setting.values, strict=True):
        for ax, (name, label) in zip(row, PANELS.items(), strict=True):
            for color, eta in enumerate(data[ETA].values):
                runs = data.sel({"setting": setting, ETA: eta})
                plot.series(ax, runs[name], "step", f"η = {eta:g}", color=color, markers=False)
                if name == "loss":
                    curve = runs.predicted_loss_selected.isel(seed=0)
                    law = "" if color else "theory, n = ∞, full selection"
                    plot.theory(ax, curve.step, curve, law, color=color)
            scale = "log" if name == "loss" else "linear"
            place = f"(n, d, D) = {setting}"
            plot.finish(ax, "step t", label, place, xscale="log", yscale=scale, legend=False)
        row[0].set_ylim(5e-3, 1.3)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="groups_pretraining",
    source=f"{PAPER}, pre-training experiments of the talk; eta, T and the setting's attribution "
    "are ours",
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
            "GS-1",
            origin=interpretation(PAPER, "theorem: loss; experiments"),
            statement="“The loss is sufficiently minimized” is read as: the loss is at most 0.06 and 0.10 within 100 steps.",
            measure=over("loss", 100, 0.06, 0.10),
            bound=at_most(1.0),
        ),
        Claim(
            "GS-2",
            origin=interpretation(PAPER, "theorem: v1/|v1| near v*"),
            statement="v “successfully learns the ground truth classifier” is read as: the cosine of v1 with v* is at least 0.999 after 100 steps.",
            measure=over("value_cosine", 100, 0.999, 0.999),
            bound=at_least(1.0),
            minimum=2,
        ),
        Claim(
            "GS-3",
            origin=interpretation(PAPER, "theorem: v = [v1; 0]"),
            statement="v2 = 0 is read as: |v1| is at least 0.985 and 0.995 of |v| after 100 steps.",
            measure=over("value_norm_ratio", 100, 0.985, 0.995),
            bound=at_least(1.0),
            minimum=2,
        ),
        Claim(
            "GS-4",
            origin=interpretation(PAPER, "theorem: selection"),
            statement="“Self-attention extracts the variables from the label-relevant group” is read as: at least 0.83 and 0.86 of the attention is on it after 100 steps.",
            measure=over("relevant_attention", 100, 0.83, 0.86),
            bound=at_least(1.0),
        ),
        Claim(
            "GS-5",
            origin=derived("measured"),
            statement="On so few samples the attention on the relevant group does not continue to 1: it is at most 0.95 after 1000 steps.",
            measure=lambda d: at(d, 1000).relevant_attention,
            bound=at_most(0.95),
        ),
        Claim(
            "GS-6",
            origin=derived("measured"),
            statement="The attention falls again: from t = 200 to 1000 its smallest value over queries falls by at least 0.03.",
            measure=lambda d: (
                at(d, 200).relevant_attention_min - at(d, 1000).relevant_attention_min
            ),
            bound=at_least(0.03),
        ),
        Claim(
            "GS-7",
            origin=derived("measured"),
            statement="In the setting (500, 4, 6) with eta = 0.5, the loss first rises above its initial value, to 0.75 or more on average.",
            measure=lambda d: d.loss.sel({ETA: 0.5, "setting": LARGE, "step": slice(1, 50)}).max(
                "step"
            ),
            bound=at_least(0.75),
        ),
        Claim(
            "GS-8",
            origin=derived("measured"),
            statement="With eta = 0.1 the loss never rises.",
            measure=lambda d: (
                d.loss.sel({ETA: 0.1}).diff("step").max("step") / np.log(2)
            ),  # from log 2
            bound=at_most(1e-5),
            statistic="each",
        ),
        Claim(
            "GS-9",
            origin=derived("derived: the population's loss with all attention on the group"),
            statement="After 1000 steps the training loss is at most 0.85 of the population loss with all attention on the group, while the test loss is above it.",
            measure=overfit,
            bound=at_most(1.0),
        ),
    ),
)
