"""Do updates keep a low rank, and neurons stay small, with momentum, cosine decay and Adam?"""

import xarray as xr

from jaxtheory import Figure, optimisers, plot
from jaxtheory.theories.low_rank import G

from . import PAPER, last, law, only, ours, panels, runs

ETA = "learning_rate"
RATES = {
    "sgd": [0.5, 1.0, 2.0],
    "momentum": [0.05, 0.1, 0.2],
    "sgd_cosine": [1.0, 2.0, 4.0],
    "adam": [0.001, 0.003, 0.01],
}
MIDDLE = {algorithm: rates[1:2] for algorithm, rates in RATES.items()}
RANK = 2  # relevant patterns, and of the change of every matrix


def of(values: xr.DataArray, *algorithms: str) -> xr.DataArray:
    """The runs of some algorithms, slowest rate first."""
    return xr.concat(
        [optimisers.of(values, ETA, name).drop_vars("rate") for name in algorithms], "algorithm"
    )


def beyond(data: xr.Dataset) -> xr.DataArray:
    """s_3 / s_1 of the change of each matrix at the end."""
    s = last(data.singular_values)
    return s.sel(index=RANK + 1, drop=True) / s.sel(index=1, drop=True)


def small(data: xr.Dataset) -> xr.DataArray:
    """The share of small neurons at the end less that of the law."""
    return last(data.small_fraction) - law(data, "small_fraction_own_mean")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Against the learning rate: s_3 / s_1 of W_Q and W_V, the share of neurons below the largest
    gap, the size of that gap, and the test loss.
    """
    figure, axes = panels(data, 5, f"Setting G, t = {int(data.step[-1])}", width=3.0, height=3.2)
    ratios = beyond(data)
    shown = {
        r"$s_3/s_1$ of $\Delta W_Q$": ratios.sel(matrix="WQ"),
        r"$s_3/s_1$ of $\Delta W_V$": ratios.sel(matrix="WV"),
        "neurons below the largest gap": last(data.small_fraction),
        "size of that gap, ratio of norms": last(data.small_ratio),
        "test hinge loss": last(data.loss),
    }
    for ax, (label, values) in zip(axes, shown.items(), strict=True):
        optimisers.against_rate(ax, values, ETA)
        scale = "linear" if "below" in label else "log"
        plot.finish(ax, "learning rate", label, xscale="log", yscale=scale, legend=False)
    plot.theory(axes[2], None, float(law(data, "small_fraction_own_mean").mean()), "law")
    plot.legend_below(figure, axes[2])
    return figure


FIGURE = Figure(
    name="rank_optimisers",
    source=f"derived: {PAPER}, remark 1 and proposition 2, beyond plain SGD",
    theory=only(),
    config=G.replace(num_samples=300, num_test=200, decay_steps=150),
    sweep=runs(150, zip=optimisers.runs(ETA, RATES), buckets="exact"),
    quick={"zip": optimisers.runs(ETA, MIDDLE), "seeds": 2, "steps": 60, "record": [0, 60]},
    draw=draw,
    claims=(),
)
