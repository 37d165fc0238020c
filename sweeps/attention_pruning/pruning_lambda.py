"""How does the error of the pruned attention depend on lambda, and what makes the arms of the U?

lambda is the regularization.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot, statistics
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, interpretation, printed
from jaxtheory.theories.attention_pruning import P3, PRESETS

from . import AXES, PAPER, QUICK, THEORY, after_steps, with_legend
from ._errors import PLAIN, RIVALS, finish, half, lines, select

SOURCE = f"{PAPER}, figure 2(a)"
LIMIT = "predicted_relative_error_large_lambda"
GRID = [round(10 ** (k / 2), 4) for k in range(-1, 11)]


def final(dataset: xr.Dataset, name: str = PLAIN) -> xr.DataArray:
    """A metric at rho = 1/2 and each preset's own last step."""
    steps = xr.DataArray([PRESETS[str(p)][1] for p in dataset.preset.values], dims="preset")
    return (
        half(dataset)[name]
        .sel(preset=dataset.preset, step=steps)
        .drop_vars(("step", "steps"), errors="ignore")
    )


def fitted(dataset: xr.Dataset) -> xr.DataArray:
    """Final errors of the gradient mask."""
    return select(final(dataset), "gradient")


def choice(dataset: xr.Dataset) -> xr.DataArray:
    """The place of the best lambda, per preset."""
    return fitted(dataset).fillna(np.inf).argmin("regularization")


def excess(dataset: xr.Dataset) -> xr.DataArray:
    """Final errors over the least along lambda, per preset."""
    errors = fitted(dataset)
    return errors - errors.min("regularization")


def steepness(dataset: xr.Dataset) -> xr.DataArray:
    """The largest fall of the error to the next lambda minus its largest rise."""
    steps = fitted(dataset).diff("regularization")
    return -steps.min("regularization") - steps.max("regularization")


def draw(dataset: xr.Dataset) -> plot.Drawing:
    """A column per preset: errors, and the step against the stability edge (left of it: shaded)."""
    presets = [str(p) for p in dataset.preset.values]
    figure, axes = plot.panels(
        len(presets),
        2,
        title="ρ = 1/2",
    )
    for preset, (top, bottom) in zip(presets, axes.T, strict=True):
        config, steps = PRESETS[preset]
        chosen = half(dataset).sel(preset=preset, step=steps)
        at = chosen.regularization.values
        level = statistics.average(np.log10(chosen.stability_ratio)).mean.values
        edge = 10 ** float(np.interp(0, -level, np.log10(at)))
        for ax in (top, bottom):
            ax.axvspan(at[0], edge, color="#999999", alpha=0.2, linewidth=0, label="unstable step")
        lines(top, chosen[PLAIN], "regularization", ["gradient"])
        lines(top, chosen[PLAIN], "regularization", markers=False)
        plot.theory(top, 0, float(chosen[LIMIT].mean()), "one-shot limit")
        clipped = ", clipped" if config.clip else ""
        title = f"{preset}: c = {config.step_scale:g}, {steps} steps{clipped}"
        finish(top, "λ", title, xscale="log")
        plot.series(bottom, chosen.stability_ratio, "regularization", color=4)
        plot.theory(bottom, 0, 1.0, "stability edge")
        plot.finish(
            bottom, "λ", r"$\eta\,\|H\| / (2 + 2\beta)$", legend=False, xscale="log", yscale="log"
        )
    plot.remark(figure, "H: the Hessian of the loss.")
    return with_legend(figure, *axes[:, 0])


FIGURE = Figure(
    name="pruning_lambda",
    source=SOURCE,
    finding=Finding(
        "At ρ = 1/2 the error is least inside λ = 0.3 to 10⁵ in every run, and an η 3 times past stability adds ≥ 0.5",
        rests_on=("AP-1", "AP-7"),
    ),
    theory=THEORY,
    config=P3,
    sweep=after_steps(1500, AXES | {"lambda": GRID})
    | {
        "zip": {
            "preset": tuple(PRESETS),
            "step_scale": tuple(config.step_scale for config, _ in PRESETS.values()),
            "clip": tuple(config.clip for config, _ in PRESETS.values()),
            "steps": tuple(steps for _, steps in PRESETS.values()),
        },
        "record": [100, 400, 1500],
        "seeds": 16,
    },
    quick=QUICK
    | {
        "vary": AXES | {"lambda": [GRID[0], 10.0, GRID[-1]]},
        "zip": {"preset": ("P3",), "step_scale": (P3.step_scale,)},
    },
    draw=draw,
    claims=(
        Claim(
            "AP-1",
            origin=printed(PAPER, "figure 2(a)"),
            statement="“reaching a minimum before gradually rising again”: the error of each run is least strictly inside the range of lambda.",
            why="A minimum inside means that lambda has to be searched, as one end is not the best.",
            measure=Measure(
                "least error strictly inside the range of λ, each preset (1: yes)",
                lambda d: (choice(d) > 0) & (choice(d) < d.sizes["regularization"] - 1),
            ),
            bound=at_least(1.0),
            q=1,
        ),
        Claim(
            "AP-2",
            origin=interpretation(PAPER, "figure 2(a)"),
            statement="“the relative error initially decreases sharply” before “gradually rising again”, read as: between neighboring values of lambda the largest fall of the error is larger than its largest rise.",
            why="The two arms have different causes, which their steepness shows.",
            measure=Measure(
                "largest fall minus largest rise of the error to the next λ, per preset", steepness
            ),
            bound=at_least(0.0),
        ),
        Claim(
            "AP-6",
            origin=interpretation(PAPER, "section 6.1"),
            statement="“our Algorithm 1 outperforms Wanda and SparseGPT with a large margin”, read as: at the best lambda of figure 2(a) and on its calibration data the error is at most 0.6 of that of the better of the two.",
            why="It is the headline of the source; the baselines have no parameter that is tuned on these data.",
            measure=Measure(
                "mask's error, best λ, over better of Wanda and SparseGPT, each preset",
                lambda d: (
                    fitted(d).min("regularization")
                    / select(final(d), *RIVALS).isel(regularization=0)
                ),
            ),
            bound=at_most(0.6),
        ),
        Claim(
            "AP-7",
            origin=derived(),
            statement="A step 3 times past the stability edge costs at least 0.5 in error.",
            why="The source takes the left arm for a property of lambda, but its step c/lambda is too large there.",
            measure=Measure(
                "error above its least over λ, mean where η is > 3 stability edges",
                lambda d: (  # of the presets with such a step
                    excess(d)
                    .where(half(d).stability_ratio > 3)
                    .mean("regularization")
                    .dropna("preset")
                ),
            ),
            bound=at_least(0.5),
        ),
        Claim(
            "AP-9",
            origin=derived(),
            statement="At the largest lambda the error is that of the one-shot score, within 0.05 (P2, P3).",
            why="A large lambda leaves a closed-form score, so the descent could be saved there.",
            measure=Measure(
                "distance of the error from the one-shot score's, largest λ, P2 and P3",
                lambda d: (
                    abs(fitted(d) - final(d, LIMIT))
                    .isel(regularization=-1)
                    .sel(preset=["P2", "P3"])
                ),
            ),
            bound=at_most(0.05),
        ),
    ),
)
