"""What does the step size of theorem 4.1, 1 / L_g, cost against a fixed one that descends too?"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, crossing, interpretation, last
from jaxtheory.theories.attention_pruning import Config

from . import PAPER, THEORY, with_legend

ETA = 3.0  # of pruning_theorem
LAMBDAS = (1e-2, 10**-2.5, 1e-3)
STEPS = 600000  # enough for a step that is 900 times smaller
LABELS = {"gradient_descent": f"eta = {ETA:g}", "smooth": "eta = 1/L_g"}


def at_the_end(dataset: xr.Dataset) -> xr.DataArray:
    """The loss at 1 / L_g over that at the fixed step, both after the last step."""
    end = last(dataset.loss)
    return end.sel(algorithm="smooth") / end.sel(algorithm="gradient_descent")


def reached(dataset: xr.Dataset) -> xr.DataArray:
    """The step at which the loss has come 99 % of its way down to the least one of both.

    Between records it is interpolated by powers of t.
    """
    excess = dataset.loss - dataset.loss.min(["step", "algorithm"])
    remaining = excess / excess.sel(step=0, drop=True)
    remaining = remaining.isel(step=slice(1, None)).where(remaining > 0)
    t = np.log(remaining.step.astype(float))
    return xr.apply_ufunc(np.exp, crossing(np.log(remaining), np.log(0.01), t))


def slower(dataset: xr.Dataset) -> xr.DataArray:
    """The ratio of the number of steps with 1 / L_g to that with the fixed step."""
    steps = reached(dataset)
    return steps.sel(algorithm="smooth") / steps.sel(algorithm="gradient_descent")


def smaller(dataset: xr.Dataset) -> xr.DataArray:
    """The ratio of the fixed step to 1 / L_g: eta L_g, with L_g = ||Hessian|| / ratio."""
    one = dataset.sel(algorithm="smooth")
    return ETA * one.hessian_norm / one.bound_ratio.sel(bound="lipschitz", drop=True)


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """The loss along both descents; how much slower against how much smaller, a mark per run."""
    figure, axes = plot.panels(2)
    descent, cost = axes[0]
    for color, lam in enumerate(dataset.regularization.values):
        chosen = dataset.sel(regularization=lam, step=slice(1, None))
        style = {"color": plot.COLORS[color]}
        plot.series(
            descent,
            chosen.loss.sel(algorithm="smooth"),
            "step",
            f"λ = {lam:.1e}",
            color=color,
            markers=False,
        )
        fixed = chosen.loss.sel(algorithm="gradient_descent").mean("seed")
        plot.reference(descent, fixed.step, fixed, "", color=color, says=f"η = {ETA:g}")
        cost.plot(
            smaller(chosen),
            slower(dataset).sel(regularization=lam),
            plot.MARKERS[color],
            markersize=7 - 2 * color,
            **style,
        )
    plot.finish(
        descent,
        "step t",
        "loss",
        f"$\\eta = 1/L_g$; dotted: η = {ETA:g}",
        legend=False,
        xscale="log",
        yscale="log",
    )
    ends = np.asarray([float(smaller(dataset).min()), float(smaller(dataset).max())])
    plot.reference(cost, ends, ends, says="equality")
    plot.finish(
        cost,
        f"${ETA:g} L_g$, how much smaller the step is",
        "times as many steps",
        "to 99 % of the way, a mark per run",
        legend=False,
    )
    return with_legend(figure, descent)


FIGURE = Figure(
    name="pruning_schedule",
    source=f"{PAPER}, theorem 4.1 with its step size",
    finding=Finding(
        "With the theorem's step size 1/L_g the loss ends at most a relative 10⁻⁶ above that of descent with η = 3",
        rests_on=("AP-43",),
    ),
    theory=THEORY,
    config=Config(
        dimension=16, length=8, mask_init="uniform", momentum=0.0, logit_scale=1.0, step_scale=0.01
    ),
    sweep={
        "vary": {"algorithm": ["gradient_descent", "smooth"]},
        "zip": {
            "regularization": LAMBDAS,
            "step_scale": tuple(ETA * value for value in LAMBDAS),
        },
        "seeds": 8,
        "steps": STEPS,
        "record": [*sorted({0, *(round(10 ** (k / 8)) for k in range(47)), STEPS})],
        "dtype": "float64",
    },
    quick={"seeds": 2, "steps": 1000, "record": [0, 1, 10, 100, 1000]},
    draw=draw,
    claims=(
        Claim(
            "AP-43",
            origin=interpretation(PAPER, "remark 4.2"),
            statement="“the Gradient Descent of our Algorithm 1 can converge to a good solution”, read as: with eta = 1/L_g the loss ends at most 10^-6 of it above that with eta = 3.",
            why="It is the step for which the theorem is proved.",
            measure=Measure(
                "relative excess of the last loss, η = 1/L_g over η = 3, each λ",
                lambda d: at_the_end(d) - 1,
            ),
            bound=at_most(1e-6),
            diverged="violates",
        ),
    ),
)
