"""How many steps does a pre-trained V save at a small correlation, and where does that stop?

SGD from both starts, without the one step of transfer, to alpha_A = 0.2 on the same batches.
"""

from typing import Any

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    crossing,
    derived,
    interpretation,
)
from jaxtheory.theories.contextual_bigram import Params, Problem
from jaxtheory.theories.contextual_bigram.laws import dynamics, population

from . import PAPER, THEORY, TRANSFER, Config

SCRATCH, WHOLE = "scratch", "θ = 1, ρ = 1/64"
RHO = {f"1/{n}": 1 / n for n in (512, 64, 16, 4, 2)} | {"1": 1.0}
RATE, LEVEL, STEPS = 0.05, 0.2, 120
NEAR, RARE, FAR = "1/2", "1/64", "1/512"


def time_by_law(params: Params, problem: Problem, config: Config) -> Any:
    """The steps to LEVEL from the alpha_V of these parameters."""
    v = population.alignment(params, problem, config).value
    return dynamics.boosting_time(LEVEL, v, problem, config) / config.late_learning_rate


def steps(data: xr.Dataset) -> xr.DataArray:
    """The step at which alpha_A reaches LEVEL, between records by straight lines in its log."""
    alpha = data.attention_alignment
    return crossing(np.log(alpha.where(alpha > 0)), np.log(LEVEL))


def fine(data: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Values of the runs from V at theta = 0.1, by rho."""
    labels = [x for x in RHO if x in data.case.values]
    chosen = values.sel(case=labels)
    chosen = chosen.drop_vars(chosen.coords.keys() - {"case", "seed"})
    return chosen.assign_coords(case=[RHO[x] for x in labels]).rename(case="rho")


def saved(data: xr.Dataset, durations: xr.DataArray) -> xr.DataArray:
    """The time s that is saved, by rho, on the same task."""
    scratch = durations.sel(case=SCRATCH)
    scratch = scratch.drop_vars(scratch.coords.keys() - {"seed"})
    return RATE * (scratch - fine(data, durations))


def law(data: xr.Dataset) -> xr.DataArray:
    """The steps of the law at the start of each run."""
    return data.time_by_law.isel(step=0, drop=True)


def over_law(case: str) -> Any:
    """Steps over those of the law without Delta_V."""
    return lambda data: (steps(data) / law(data)).sel(case=case)


def share_saved(case: str) -> Any:
    """The share of the steps from scratch that a start saves."""
    return lambda data: 1 - steps(data.sel(case=case)) / steps(data.sel(case=SCRATCH))


def draw(data: xr.Dataset) -> plot.Drawing:
    """Alignment in t from each start, and the saved time against rho with its law."""
    figure, ((curves, gain),) = plot.panels(2, width=4.2, height=3.2)
    for color, case in enumerate(case for case in data.case.values if case != FAR):
        values = data.attention_alignment.sel(case=case)
        label = case if case in (SCRATCH, WHOLE) else f"ρ = {case}"
        plot.series(curves, values, "step", label, color=color, markers=False)
    curves.set_ylim(1e-3, 2)
    plot.finish(curves, "step t", r"$\alpha_A$", yscale="log")
    if SCRATCH in data.case.values:
        savings, expected = saved(data, steps(data)), saved(data, law(data)).mean("seed")
        if bool(savings.notnull().any()):
            plot.series(gain, savings, "rho", "runs", color=0)
        plot.theory(gain, expected.rho.values, expected, "law", color=1)
    plot.finish(gain, "correlation ρ", "time s saved", xscale="log")
    return figure


def settings(cases: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """A case for the trivial V, and one for each pair of theta and rho."""
    theta, rho = zip(*cases.values(), strict=True)
    return {
        "case": [SCRATCH, *cases],
        "algorithm": ["sgd", *["transfer"] * len(cases)],
        "pretrained_weight": [0.1, *theta],
        "correlation": [1.0, *rho],
    }


FIGURE = Figure(
    name="bigram_finetune",
    source=f"{PAPER}, section 4",
    finding=Finding(
        "SGD from a pre-trained V saves at least 1/4 of the steps of stage one at ρ = 1/2, at most 1/10 at ρ = 1/512",
        rests_on=("CB-103", "CB-104"),
    ),
    theory=THEORY,
    config=Config(length=128, batch_size=512, l1=0.0, switch_step=0, late_learning_rate=RATE),
    sweep={
        "zip": settings({case: (0.1, rho) for case, rho in RHO.items()} | {WHOLE: (1.0, 1 / 64)}),
        "seeds": 20,
        "steps": STEPS,
        "record": [*range(0, STEPS + 1, 2)],
        "observe": {"time_by_law": time_by_law},
        "dtype": "float32",
    },
    quick={
        **TRANSFER,
        "zip": {
            "case": ["1/4", "1"],
            "algorithm": ["transfer"] * 2,
            "pretrained_weight": [0.1, 0.1],
            "correlation": [0.25, 1.0],
        },
        "steps": 30,
        "record": [0, 20, 30],
    },
    draw=draw,
    claims=(
        Claim(
            "CB-103",
            origin=interpretation(PAPER, "section 4"),
            statement="“the pretrained model can be used to provide a nonzero initial signal, allowing us to bypass the initial sample-intensive signal-boosting stage”, read as of steps without the one large step: at rho = 1/2 fine-tuning saves at least a quarter of the steps of stage one.",
            measure=Measure(
                "share of the steps to α_A = 0.2 that a pre-trained V saves, ρ = 1/2",
                share_saved(NEAR),
            ),
            bound=at_least(0.25),
            why="It is the use of a pre-trained V for whoever only goes on with SGD.",
        ),
        Claim(
            "CB-104",
            origin=derived("derived: alpha_V = theta rho against the drift d = 1 / (T K_Q)"),
            statement="At rho = 1/512, far below Q / (θ_p T) = 0.16, fine-tuning saves at most a tenth of the steps of stage one.",
            measure=Measure(
                "share of the steps to α_A = 0.2 that a pre-trained V saves, ρ = 1/512",
                share_saved(FAR),
            ),
            bound=at_most(0.1),
            why="A correlation “as small as” one likes is enough only with the one step and its samples, and not for steps.",
        ),
        Claim(
            "CB-105",
            origin=derived("derived: the linear system of stage one from alpha_V > 0"),
            statement="The time eta t that fine-tuning saves is log(1 + alpha_V / d), alpha_V that of the start, with its corrections at the level alpha_A = 0.2: their difference is -0.4 to 0.4 at each of six rho from 1/512 to 1.",
            measure=Measure(
                "saved time η t to α_A = 0.2 minus its law, each of six ρ, 1/512 to 1",
                lambda d: saved(d, steps(d) - law(d)),
            ),
            bound=between(-0.4, 0.4),
            why="It says for any task what pre-training is worth in steps, and where it stops.",
        ),
        Claim(
            "CB-106",
            origin=interpretation(PAPER, "section 4"),
            statement="“the influence of” Delta_V “on the dynamics scales with” its square, “which is small”, read as: at θ_p = 0.1 and rho = 1/64, where |Delta_V| is some 64 times the signal, the steps to alpha_A = 0.2 are within 15 % of those without Delta_V.",
            measure=Measure(
                "steps to α_A = 0.2 over the law without Δ_V, θ = 0.1, ρ = 1/64", over_law(RARE)
            ),
            bound=between(0.85, 1.15),
            why="It is the reason for a small θ_p in theorem 4.1, and why a bad V does not spoil the start.",
        ),
        Claim(
            "CB-107",
            origin=derived("derived: stage one with Delta_V, lemma C.5"),
            statement="At θ_p = 1 and rho = 1/64 the influence of Delta_V on the dynamics is not small: a run takes longer to alpha_A = 0.2 than without Delta_V.",
            measure=Measure(
                "steps to α_A = 0.2 over the law without Δ_V, θ = 1, ρ = 1/64", over_law(WHOLE)
            ),
            bound=at_least(1.0),
            why="A whole pre-trained V has ten times the signal of a tenth of it, and gains nothing.",
        ),
    ),
)
