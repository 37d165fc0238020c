"""Does Gaussian noise of the law's covariance end where mini-batches do?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot, statistics
from jaxtheory.claims import at_most, interpretation, last

from . import PAPER, QUICK, THEORY, Config, right_sign, runs
from ._curves import ALPHAS, CURVES

REAL, SIMULATED = "proximal", "noise"
PANELS = ALPHAS | {name: CURVES[name] for name in ("attention_residual", "attention_cosine")}
BOTH_WAYS = {"algorithm": [REAL, SIMULATED], "l1": [1e-5, 0.0]}


def pairs(data: xr.Dataset, values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """The last values of simulation and mini-batches, on the tasks where both end with the right
    sign.
    """
    kept = last(values).where(right_sign(data).all("algorithm"))
    return kept.sel(algorithm=SIMULATED, drop=True), kept.sel(algorithm=REAL, drop=True)


def surprise(data: xr.Dataset) -> xr.DataArray:
    """Differences on the same tasks in standard errors of their mean, turned so that the mean is
    positive.
    """

    def one(name: str) -> xr.DataArray:
        simulated, real = pairs(data, data[name])
        found = statistics.average(simulated - real)
        return (simulated - real) * np.sign(found.mean) / found.error

    return xr.concat([one(name) for name in PANELS], "name")


def gap(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """The difference of simulated runs from the median of mini-batches, with the sign that
    makes the median positive.
    """
    simulated, real = pairs(data, values)
    found = simulated - real.median("seed")
    return found * np.sign(found.median("seed"))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Curves of both, with and without prox."""
    good = right_sign(data).all("algorithm")
    figure, axes = plot.panels(
        4,
        title="Simulated noise ends where mini-batches do",
        width=3.3,
        height=3.0,
    )
    for ax, (name, label) in zip(axes[0], PANELS.items(), strict=True):
        for i, lam in enumerate(data.l1.values):
            for j, algorithm in enumerate(data.algorithm.values):
                values = data[name].sel(l1=lam, algorithm=algorithm).where(good.sel(l1=lam))
                text = ("proximal" if lam else "SGD") + (", simulated" if j else ", mini-batches")
                plot.series(ax, values, "step", text, color=2 * i + j, markers=False)
        plot.finish(ax, "step t", label, legend=False)
    plot.legend_below(figure, axes[0, 0])
    return figure


FIGURE = Figure(
    name="bigram_noise",
    source=f"{PAPER}, appendix I",
    theory=THEORY,
    config=Config(batch_size=64, learning_rate=0.01, late_learning_rate=0.005),
    sweep={
        "vary": BOTH_WAYS,
        **runs(40, 1000, every=100),
    },
    quick=QUICK | {"vary": BOTH_WAYS},
    draw=draw,
    # key 100, 32 tasks of which 27 and 26: means up to 1.4 standard errors apart; median cosines
    # 0.990 and 0.991, |Delta_A| 7 % apart
    claims=(
        Claim(
            "CB-43",
            origin=interpretation(PAPER, "appendix I"),
            statement="“to mimic the batch gradient noise”, read as: simulation and mini-batches end with the same mean alphas, cosine and |Delta_A|, paired by task within 5 standard errors.",
            measure=surprise,
            bound=at_most(5.0),
            minimum=24,
        ),
        Claim(
            "CB-44",
            origin=interpretation(PAPER, "appendix I"),
            statement="“to mimic the batch gradient noise”, read as: the median cosines of A and Q of proximal runs differ by at most 0.02.",
            measure=lambda d: gap(d, d.attention_cosine).sel(l1=1e-5),
            bound=at_most(0.02),
            statistic="median",
            minimum=24,
        ),
        Claim(
            "CB-45",
            origin=interpretation(PAPER, "appendix I"),
            statement="“to mimic the batch gradient noise”, read as: the medians of |Delta_A| differ by at most 35 %, in the logarithm.",
            measure=lambda d: gap(d, np.log(d.attention_residual + 1e-30)),
            bound=at_most(0.35),
            statistic="median",
            minimum=24,
        ),
    ),
)
