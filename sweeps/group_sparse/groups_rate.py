"""How does the loss fall in t, D and d after selection, and how long does selection take?

`population` trains six numbers on 2000 samples completed by the symmetries of their law; `gd`
trains v and W on the samples themselves. Long, because seven claims compare runs along three axes,
and selection has a time of its own.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_most, between, derived, exponent, interpretation

from . import PAPER, SWEEP, THEORY, Config, D, N, table

RUNS = {
    "gd, D = 4": ("gd", 4, 4, 4000, 500),
    "gd, D = 8": ("gd", 4, 8, 4000, 500),
    "D = 4": ("population", 4, 4, 2000, 4000),
    "D = 6": ("population", 4, 6, 2000, 500),
    "D = 8": ("population", 4, 8, 2000, 500),
    "D = 12": ("population", 4, 12, 2000, 500),
    "d = 2, D = 6": ("population", 2, 6, 2000, 500),
    "d = 8, D = 6": ("population", 8, 6, 2000, 500),
}
FIELDS = f"algorithm group_dim {D} {N} steps"
GROUPS = ["D = 4", "D = 6", "D = 8", "D = 12"]
T = 500  # where settings are compared
REACHED = 0.9
LOG: Any = {"xscale": "log", "yscale": "log"}
RECORD = [
    *range(0, 41, 5),
    50,
    60,
    80,
    100,
    125,
    *range(140, 301, 20),
    350,
    400,
    T,
    700,
    1000,
    1400,
    2000,
    2800,
    4000,
]


def runs(names: list[str]) -> dict[str, list]:
    """A zip of the named runs."""
    return table(f"run {FIELDS}", [(name, *RUNS[name]) for name in names])


def against_groups(values: xr.DataArray, names: list[str] = GROUPS) -> xr.DataArray:
    """Runs of d = 4, the population's unless said otherwise, with D as their coordinate."""
    chosen = values.sel(run=names)
    return chosen.drop_vars(["run", *FIELDS.split()], errors="ignore").assign_coords(
        run=chosen[D].values
    )


def ratio(values: xr.DataArray, over: str, under: str) -> xr.DataArray:
    """The ratio of two runs at t = 500."""
    return values.sel(run=over, step=T, drop=True) / values.sel(run=under, step=T, drop=True)


def late(values: xr.DataArray) -> xr.DataArray:
    """Values at D = 4 from t = 1000 on."""
    return values.sel(run="D = 4", step=slice(1000, None))


def in_groups(data: xr.Dataset) -> xr.DataArray:
    """L(D = 8) / L(D = 4), per seed, of gradient descent."""
    return ratio(data.loss, "gd, D = 8", "gd, D = 4")


def group_exponent(data: xr.Dataset) -> xr.DataArray:
    """The exponent of D in the population's loss at t = 500."""
    return exponent(against_groups(data.test_loss).sel(step=T), "run")


def time_to_select(data: xr.Dataset) -> xr.DataArray:
    """The first recorded step with an attention of 0.9 from every query, on average over samples;
    interpolated between records.
    """
    values = against_groups(data.relevant_attention_min).sel(step=slice(0, T))
    after = (values >= REACHED).argmax("step")
    low, high = values.isel(step=after - 1), values.isel(step=after)
    start, end = values.step.isel(step=after - 1), values.step.isel(step=after)
    times = start + (REACHED - low) / (high - low) * (end - start)
    return times.where(values.isel(step=-1) >= REACHED).drop_vars("step", errors="ignore")


def time_exponent(data: xr.Dataset) -> xr.DataArray:
    """The exponent of D in the time to select."""
    return exponent(time_to_select(data), "run")


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and attention in t, the loss at t = 500 and the time to select against D; dashed: the
    power laws with their constants.
    """
    shown = [name for name in GROUPS if name in data.run]
    whole = shown == GROUPS
    title = "After selection the loss falls as a power of t and D (η = 0.25, d = 4)"
    figure, axes = plot.panels(4 if whole else 2, width=3.5, height=3.1, title=title)
    loss, missing, *against_d = axes[0]
    for color, name in enumerate(shown):
        values = data.sel(run=name, step=slice(1, None)).dropna("step", how="all", subset=["loss"])
        law, label = values.predicted_loss_rate.isel(seed=0), "" if color else "rate law"
        plot.series(loss, values.test_loss, "step", name, color=color, markers=False)
        plot.theory(loss, law.step, law, label, color=color)
        left = 1 - values.relevant_attention_min
        plot.series(missing, left, "step", name, color=color, markers=False)
    plot.finish(loss, "step t", "test loss", **LOG)
    plot.finish(missing, "step t", r"1 − least $S_{j^*j}$ over queries j", **LOG)
    if not whole:
        return figure
    losses, selection = against_d
    at_end, times = data.sel(step=T), time_to_select(data)
    end = against_groups(at_end.test_loss)
    descent = against_groups(at_end.test_loss, ["gd, D = 4", "gd, D = 8"])
    law = against_groups(at_end.predicted_loss_rate).isel(seed=0)
    D_over_4 = law.run.values / 4
    plot.series(losses, end, "run", f"population, {plot.slope_label(end, 'run')}")
    plot.series(losses, descent, "run", "gradient descent", color=1)
    plot.theory(losses, law.run, law, r"$D^{-2/3}$, derived")
    plot.theory(losses, law.run, float(end[0].mean()) / D_over_4, r"$D^{-1}$, source", color=3)
    plot.series(selection, times, "run")
    plot.finish(losses, "groups D", f"test loss at t = {T}", **LOG)
    plot.finish(selection, "groups D", f"steps to a least attention of {REACHED:g}", **LOG)
    for ax in against_d:
        plot.ticks(ax.xaxis, law.run.values)
    plot.ticks(losses.yaxis, [0.02, 0.03, 0.04])
    return figure


FIGURE = Figure(
    name="groups_rate",
    source=f"{PAPER}, theorem: T* of order 1/(D^3 epsilon^3)",
    theory=THEORY,
    config=Config(learning_rate=0.25),
    sweep={"zip": runs(list(RUNS)), "steps": 4000, "record": RECORD, **SWEEP},
    quick={
        "zip": runs(GROUPS[:2]) | {"steps": [200, 200], N: [500, 500]},
        "seeds": 2,
        "steps": 200,
        "record": [0, 5, 10, 20, 30, 50, 80, 100, 140, 200],
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "GS-18",
            origin=derived("derived: L ~ D^(-2/3) t^(-1/3)"),
            statement="At equal eta and t = 500, L(D = 8) / L(D = 4) is that of D^(-2/3), which is 0.63: it is within [0.57, 0.69].",
            measure=in_groups,
            bound=between(0.57, 0.69),
        ),
        Claim(
            "GS-19",
            origin=interpretation(PAPER, "theorem: T*"),
            statement="T* of order 1/(D^3 epsilon^3) is read as a loss of order D^(-1) at equal eta and t: on the population, for D = 4 to 12, its exponent is within [-1.1, -0.9].",
            measure=group_exponent,
            bound=between(-1.1, -0.9),
            expect="fails",
        ),
        Claim(
            "GS-20",
            origin=derived(),
            statement="On the population, for D = 4 to 12, the exponent of D in the loss is -2/3: it is within [-0.75, -0.55].",
            measure=group_exponent,
            bound=between(-0.75, -0.55),
        ),
        Claim(
            "GS-21",
            origin=interpretation(PAPER, "theorem: T*"),
            statement="T* of order 1/epsilon^3 is read as a loss that falls as t^(-1/3): on the population, from t = 1000 on, its exponent is within [-0.4, -0.27].",
            measure=lambda d: exponent(late(d.test_loss), "step"),
            bound=between(-0.4, -0.27),
        ),
        Claim(
            "GS-22",
            origin=derived(),
            statement="There, |v1| = (3 eta RATE t / (D sigma_x))^(1/3) within 3 %, constant included.",
            measure=lambda d: late(d.value_norm / d.predicted_value_norm_rate),
            bound=between(0.97, 1.03),
            where="together",
        ),
        Claim(
            "GS-23",
            origin=derived(),
            statement="The loss does not depend on d: it is equal within 20 % from d = 2 to 8.",
            measure=lambda d: abs(
                xr.apply_ufunc(
                    np.log, ratio(d.test_loss.mean("seed"), "d = 8, D = 6", "d = 2, D = 6")
                )
            ),
            bound=at_most(0.2),
        ),
        Claim(
            "GS-24",
            origin=derived("measured"),
            statement="The time until the least attention is 0.9 hardly depends on D: its exponent is within [-0.2, 0.4].",
            measure=time_exponent,
            bound=between(-0.2, 0.4),
        ),
    ),
)
