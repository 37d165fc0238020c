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
    """Shares of all cells against B / (eta T), with the law."""
    figure, ((ax,),) = plot.panels(title="s = 5; diverged runs count as wrong", width=5.0)
    x = scaled(data)
    for color, eta in enumerate(data[ETA].values):
        cells, places = (values.sel({ETA: eta}).stack(cell=(B, T)) for values in (sign(data), x))
        plot.dots(ax, places.values * (1 + 0.08 * color), cells, f"η = {eta:g}", color=color)
    order = np.argsort(x.values.ravel())
    expected = law(data).mean("seed").transpose(*x.dims).values.ravel()
    plot.theory(ax, x.values.ravel()[order], expected[order], "mean of Φ(z)")
    plot.finish(ax, "B / (η T)", "share of the right sign", xscale="log")
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
