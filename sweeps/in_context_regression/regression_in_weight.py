"""Is a task that many prompts share learned by heart, and before the others or after them?

All weights that reach the output are trained (`literal`), on a fixed set of prompts of which a
share c has one task w0. Errors are over E y^2 = 1, and are measured on fresh tasks, on w0 and on
its negative: a layer that answers w0 by heart fails there.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, between, crossing, derived, last
from jaxtheory.theories.in_context_regression import Config

from . import QUICK, SHARE, SIGMA, levels, often
from ._in_weight import TRAINED

SMALL, LARGE = 1e-5, 1e-3  # initial scales
MOST = 0.75  # the share at which most claims are made
TASKS = {"fresh": "fresh tasks", "fixed": "the fixed task", "negative": "its negative"}


def large(data: xr.Dataset, share: float = MOST) -> xr.Dataset:
    """The runs from the larger initial weights with this share."""
    return data.sel({SHARE: share, SIGMA: LARGE})


def e_fold(data: xr.Dataset) -> xr.DataArray:
    """The steps until the training loss has fallen by 5 %, per factor e of 1/sigma, over the law."""
    waits = crossing(data.train / data.train.isel(step=0), 0.95)
    steps = (waits.sel({SIGMA: SMALL}) - waits.sel({SIGMA: LARGE})) / np.log(LARGE / SMALL)
    law = data.predicted_e_fold_law.isel({"step": 0, SIGMA: 0})
    return (steps / law).sel({SHARE: slice(0.5, None)})


def by_heart(data: xr.Dataset) -> xr.DataArray:
    """The error on fresh tasks when that on the fixed task first is 1/5."""
    one = large(data)
    return crossing(one.fixed, 0.2, one.fresh)


def after(data: xr.Dataset) -> xr.DataArray:
    """The error on the negative from the time on at which that on the fixed task first is 1/5."""
    one = large(data)
    return one.negative.where(one.step >= crossing(one.fixed, 0.2))


def mixture(data: xr.Dataset) -> xr.DataArray:
    """The error on the negative when that on the fixed task first is 1/10, over its law, c = 1."""
    one = large(data, 1.0)
    return crossing(one.fixed, 0.1, one.negative) / one.predicted_negative_mixture.isel(step=0)


def returned(data: xr.Dataset) -> xr.DataArray:
    """The error on the negative at the end over its least one since the first drop."""
    return last(large(data).negative) / after(data).min("step")


def in_context(config: Config) -> float:
    """The least error of f = beta^T A x on infinitely many tasks."""
    return float(levels(config)[-1])


def draw(data: xr.Dataset) -> plot.Drawing:
    """The errors of one run in t for three shares, and the errors at the end against c."""
    shown = [0.0, MOST, 1.0]
    figure, (row,) = plot.panels(len(shown) + 1)
    for ax, share in zip(row, shown, strict=False):
        one = large(data, share).isel(seed=0, step=slice(1, None))
        for i, (name, label) in enumerate(TASKS.items()):
            ax.plot(one.step, one[name], color=plot.COLORS[i], label=label)
        plot.theory(ax, 0, in_context(CONFIG), "", says="in context")
        plot.finish(ax, "step t", "error", f"c = {share:g}, one run", xscale="log", yscale="log")
    for i, (name, label) in enumerate(TASKS.items()):
        plot.series(row[-1], last(data[name]).sel({SIGMA: LARGE}), SHARE, label, color=i)
    plot.finish(row[-1], "share c of the fixed task", "error at the end", yscale="log")
    return figure


CONFIG = Config(form="literal", num_prompts=1000, num_test=2000, learning_rate=0.1)
STEPS = 12000

FIGURE = Figure(
    name="regression_in_weight",
    source="derived: a task that many prompts share",
    finding=Finding(
        "A task of three quarters of the prompts is learned first, then read from the prompt, then in part by heart",
        rests_on=("IR-31", "IR-32", "IR-33"),
    ),
    theory=TRAINED,
    config=CONFIG,
    sweep={
        "vary": {SHARE: [0.0, 0.25, 0.5, MOST, 1.0], SIGMA: [SMALL, LARGE]},
        "seeds": 16,
        "steps": STEPS,
        "record": often(5, STEPS, 200),
        "algorithm": "gd",
        "dtype": "float64",
        "buckets": "pad",
    },
    quick=QUICK
    | {
        "config": CONFIG.replace(num_prompts=100, num_test=100),
        "vary": {SHARE: [0.0, 0.5, MOST, 1.0], SIGMA: [SMALL, LARGE]},
        "steps": 1000,
        "record": often(5, 1000, 60),
    },
    draw=draw,
    claims=(
        Claim(
            "IR-30",
            origin=derived("derived: the linear law near zero"),
            statement="The wait before the first drop grows with log(1/σ) as the linear law near zero weights says: steps per factor e of 1/σ over 1 / log(1 + 2ηγ), γ the largest singular value of the mean of y S ⊗ x, for c = 1/2, 3/4 and 1.",
            measure=Measure(
                "steps to 95 % of the first loss per e-fold of 1/σ, over the law, c ≥ 1/2", e_fold
            ),
            bound=between(0.9, 1.1),
            law=1.0,
            why="It tells how a shared task shortens the time that training stays at its start.",
        ),
        Claim(
            "IR-31",
            origin=derived("measured"),
            statement="A task that three quarters of the prompts share is learned first: when the error on it has fallen to 1/5, that on fresh tasks is still at least 0.8.",
            measure=Measure(
                "error on fresh tasks when that on the fixed task is 0.2, c = 3/4", by_heart
            ),
            bound=at_least(0.8),
            why="What the loss shows as learning in context is, at that time, knowledge of one task.",
        ),
        Claim(
            "IR-32",
            origin=derived("measured"),
            statement="After the task that three quarters of the prompts share is learned, the layer comes to read it mostly from the prompt: the error on the negative of the task falls to at most 1/5.",
            measure=Measure(
                "least error on the negative of the task after the first drop, c = 3/4",
                lambda data: after(data).min("step"),
            ),
            bound=at_most(0.2),
            why="An answer by heart, w0 whatever the prompt says, has an error near 4 on the negative of w0.",
        ),
        Claim(
            "IR-33",
            origin=derived("measured"),
            statement="After 12000 steps a task that three quarters of the prompts share is known in part by heart again: the error on its negative is at least 1.8 times the least one before.",
            measure=Measure(
                "error on the negative of the task at the end over its least one, c = 3/4", returned
            ),
            bound=at_least(1.8),
            why="The part by heart of the first drop recedes and comes back; 12000 steps are not the end of training.",
        ),
        Claim(
            "IR-34",
            origin=derived("derived: the merged form cannot store a task"),
            statement="After 12000 steps the error on a task that three quarters of the prompts share is at most 0.6 times that of the merged form at its minimum for this share.",
            measure=Measure(
                "error on the fixed task at the end over the merged minimum's, c = 3/4",
                lambda data: last(large(data).fixed / large(data).predicted_fixed_merged),
            ),
            bound=at_most(0.6),
            why="Memory pays, as one layer of linear attention does not read the task exactly from 31 examples.",
        ),
        Claim(
            "IR-35",
            origin=derived("measured"),
            statement="A layer whose training prompts all have one task does not learn to regress in context in 12000 steps: the error on fresh tasks is never below 0.8.",
            measure=Measure(
                "least error on fresh tasks over t, c = 1",
                lambda data: large(data, 1.0).fresh.min("step"),
            ),
            bound=at_least(0.8),
            why="Many prompts of one task do not teach regression; how many tasks would was not measured.",
        ),
        Claim(
            "IR-36",
            origin=derived("derived: the linear law near zero"),
            statement="What is learned first of a task that all prompts share is a mixture, the leading singular vector near zero weights: when the error on the task has fallen to 1/10, that on its negative is 0.8 to 1.2 times what this vector has.",
            measure=Measure(
                "error on the negative when that on the task is 0.1, over the law, c = 1", mixture
            ),
            bound=between(0.8, 1.2),
            law=1.0,
            why="A part of the first answer turns with the labels of the prompt, and a part does not.",
        ),
    ),
)
