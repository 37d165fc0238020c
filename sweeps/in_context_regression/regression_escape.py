"""How long does training stay at the start, against the initial scale?

Time to half of the first drop, on infinitely many prompts, for both forms with random weights.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, between, derived, exponent, fitted_law
from jaxtheory.theories.in_context_regression import laws, model

from . import ETA, EXACT, ON_POPULATION, QUICK, SIGMA, THEORY, levels, often

SEPARATE, MERGED = [0.003, 0.006, 0.012, 0.025, 0.05], [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
RATE = 0.1
CONFIG = ON_POPULATION.replace(**{ETA: RATE})
STEPS = "steps to half of the first drop"
FORMS = {"separate": SEPARATE, "merged": MERGED}


def settings(forms: dict[str, list[float]], times: dict[str, float]) -> dict[str, list]:
    """A setting for each form and scale, with the steps it needs."""
    named = [(form, sigma) for form, scales in forms.items() for sigma in scales]
    return {
        "setting": [f"{form}, σ = {sigma:g}" for form, sigma in named],
        "form": [form for form, _ in named],
        SIGMA: [sigma for _, sigma in named],
        "steps": [
            round(times[form] / (sigma if form == "separate" else 1)) for form, sigma in named
        ],
    }


def escape(data: xr.Dataset, form: str) -> xr.DataArray:
    """The first recorded step at which half of the first drop is made, against sigma."""
    runs = data.loss.isel(setting=data.form.values == form)
    plateaus = levels(CONFIG)
    half = (plateaus[0] + plateaus[1 if form == "separate" else -1]) / 2
    first = runs.step.where(runs <= half).min("step")
    return first.swap_dims(setting=SIGMA).drop_vars("setting")


def per_e_fold(data: xr.Dataset) -> xr.DataArray:
    """Steps that the merged form stays longer per factor e of the scale, over their law."""
    times = escape(data, "merged")
    slope = times.assign_coords({SIGMA: -np.log(times[SIGMA])}).polyfit(SIGMA, 1)
    return slope.polyfit_coefficients.sel(degree=1, drop=True) / e_fold()


def e_fold() -> float:
    """1 / (2 eta |Lambda^2|): v and U grow as exp(2 eta |Lambda^2| t) at the start."""
    return float(1 / (2 * RATE * np.linalg.norm(np.asarray(model.eigenvalues(CONFIG)) ** 2)))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The time against sigma for both forms."""
    figure, axes = plot.panels(2)
    for ax, form in zip(axes[0], FORMS, strict=True):
        times = escape(data, form)
        scales = times[SIGMA].values
        if form == "separate":
            fitted = plot.law(ax, fitted_law(times, SIGMA))
            plot.series(ax, times, SIGMA, f"measured, {fitted}")
            law = np.asarray(laws.escape_steps(CONFIG))[0] * CONFIG.initial_scale / scales
            plot.theory(ax, scales, law, "aligned weights")
        else:
            plot.series(ax, times, SIGMA, "measured")
            law = float(times.mean("seed")[-1]) + e_fold() * np.log(scales[-1] / scales)
            plot.theory(ax, scales, law, "law of the slope")
        yscale = "log" if form == "separate" else "linear"
        plot.finish(ax, "initial scale σ", STEPS, form, xscale="log", yscale=yscale)
        plot.ticks(ax.xaxis, scales)
    return figure


FIGURE = Figure(
    name="regression_escape",
    source="derived: time at the start",
    finding=Finding(
        "The time training stays at its start grows as 1/σ with separate keys and queries, as log(1/σ) with merged ones",
        rests_on=("IR-14", "IR-15"),
    ),
    theory=THEORY,
    config=CONFIG,
    sweep=EXACT
    | {
        "zip": settings(FORMS, {"separate": 160.0, "merged": 800.0}),
        "seeds": 16,
        "steps": 53333,
        "record": often(10, 53333, 700),
    },
    quick=QUICK
    | {
        "zip": settings(
            {"separate": [0.2, 0.4], "merged": [1e-2, 3e-2]}, {"separate": 80.0, "merged": 400.0}
        ),
        "record": often(10, 400, 60),
    },
    draw=draw,
    claims=(
        Claim(
            "IR-14",
            origin=derived("derived: three weights in a path"),
            statement="In the separate form the time that training stays at its start grows nearly as 1/σ: exponent of σ over 0.003 to 0.05.",
            measure=Measure(
                "exponent in σ of the steps to half of the first drop, separate form",
                lambda data: exponent(escape(data, "separate"), SIGMA),
            ),
            bound=between(-1.06, -0.97),
            law=-1.0,
            why="A ten times smaller start makes the staircase ten times longer, which no log shows.",
        ),
        Claim(
            "IR-15",
            origin=derived("derived: two weights in a path"),
            statement="In the merged form the time that training stays at its start grows with log(1/σ): steps per factor e of σ, over 1 / (2 η |Λ²|), σ = 1e-6 to 1e-2.",
            measure=Measure(
                "steps to half of the drop per e-fold of 1/σ, over the law, merged form", per_e_fold
            ),
            bound=between(0.95, 1.08),
            law=1.0,
            why="The abrupt drop is late only by a logarithm, with a slope that is known.",
        ),
    ),
)
