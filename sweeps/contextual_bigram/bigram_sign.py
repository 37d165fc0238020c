"""Which sign does stage one take, and does the law Phi(z) of the task know it?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived, interpretation

from . import ETA, PAPER, QUICK, SMALL, THEORY, B, Config, T

SLOW = 0.0125


def sign(data: xr.Dataset) -> xr.DataArray:
    """1 for runs with the right sign at the time s = eta t = 5, 0 for others and diverged ones."""
    return (data.right_sign.sel(step=data.steps) > 0).astype(float).drop_vars(["step", "steps"])


def law(data: xr.Dataset) -> xr.DataArray:
    """Phi(z) of each task."""
    return data.predicted_right_sign_sign_law.isel(step=0, drop=True)


def scaled(data: xr.Dataset) -> xr.DataArray:
    """B / (eta T)."""
    return data[B] / (data[ETA] * data[T])


def draw(data: xr.Dataset) -> plot.Drawing:
    """Shares by B and T, and of all cells against B / (eta T) with the law."""
    n, share, x = data.sizes["seed"], sign(data).mean("seed"), scaled(data)
    figure, ((heatmap, ax),) = plot.panels(
        2, title="s = 5; diverged runs count as wrong", width=4.2, height=3.4
    )
    slow = float(data[ETA].min())
    plot.heat(
        heatmap, share.sel({ETA: slow}), T, B, label="share of the right sign", vmin=0.5, vmax=1
    )
    plot.finish(heatmap, "length T", "batch size B", f"η = {slow:g}")
    for i, eta in enumerate(data[ETA].values):
        for j, t in enumerate(data[T].values):
            p = share.sel({ETA: eta, T: t})
            style = {
                "fmt": plot.MARKERS[j],
                "color": plot.COLORS[i],
                "markersize": 3,
                "linewidth": 0.8,
                "alpha": 0.8,
            }
            ax.errorbar(
                x.sel({ETA: eta, T: t}),
                p,
                2 * (p * (1 - p) / n) ** 0.5,
                label=f"η = {eta:g}, T = {t}",
                **style,
            )
    order = np.argsort(x.values.ravel())
    plot.theory(
        ax,
        x.values.ravel()[order],
        law(data).mean("seed").transpose(*x.dims).values.ravel()[order],
        "mean of Φ(z)",
    )
    plot.finish(
        ax,
        "B / (η T)",
        "share of the right sign",
        "one curve, but for large steps",
        xscale="log",
    )
    plot.remark(figure, f"Marks: shares of {n} tasks, the same everywhere, ± two standard errors.")
    return figure


FIGURE = Figure(
    name="bigram_sign",
    source=f"{PAPER}, lemmas on stage one: poly(T) samples",
    finding=Finding(
        "Stage one takes the right sign as often as predicted, the mean of Φ(z), within 0.1 (η = 0.0125)",
        rests_on=("CB-36",),
    ),
    theory=THEORY,
    config=Config(l1=0.0),
    sweep={
        "zip": {ETA: [0.05, SLOW], "steps": [100, 400]},
        "vary": {B: [16, 64], T: [64, 256, 1024]},
        "seeds": 64,
        "steps": 400,
        "record": [0, 100, 400],
        "buckets": "exact",
        "dtype": "float32",
    },
    quick=QUICK
    | {
        "config": SMALL.replace(l1=0.0),
        "vary": {B: [64], T: [128]},
        "record": [0, 100, 400],
        "steps": 400,
    },
    draw=draw,
    claims=(
        Claim(
            "CB-36",
            origin=derived("derived, from equation (9) and the noise at the start"),
            statement="The share of the settings in which stage one takes the right sign is the mean of Phi(z) over them: at eta = 0.0125, B = 16 and 64 and three T, the two differ by at most 0.1.",
            measure=Measure(
                "share of right signs minus mean Φ(z), six (B, T), η = 0.0125",
                lambda d: (sign(d) - law(d)).sel({ETA: SLOW}).mean(),
            ),
            bound=between(-0.1, 0.1),
            law=0,
            why="The poly(T) samples of stage one become a formula with its constant.",
        ),
        Claim(
            "CB-37",
            origin=interpretation(PAPER, "section 3.2"),
            statement="Stage one: “It either takes” T “fresh samples each step to reveal the signal or” T “steps (whence also” T “samples) for the random noises to (hopefully) cancel with each other”, read as: a quarter of batch and rate with four times the steps takes the right sign at as many of three T.",
            measure=Measure(
                "share of right signs at three T, η = 0.0125, B = 16 minus 0.05, 64",
                lambda d: (
                    sign(d).sel({ETA: SLOW, B: 16}) - sign(d).sel({ETA: 0.05, B: 64})
                ).mean(),
            ),
            bound=between(-0.1, 0.1),
            law=0,
            why="It is the source's reason to believe that no algorithm of this kind needs fewer samples.",
        ),
    ),
)
