"""With how many tasks does the layer regress on tasks that it has not seen?

kappa = k / d from 1/6 to 8 on many prompts (tau = 6) of many examples (alpha = 8).
"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    interpretation,
    last,
)
from jaxtheory.theories.task_diversity import Config

from . import ABSTRACT, PAPER, QUICK, SOLVED, THEORY, K, theory

D = 12
COUNTS = [2, 3, 6, 9, 12, 18, 24, 48, 96]


def errors(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """The errors on fresh and on training tasks."""
    return last(data.icl_error), last(data.idg_error)


def lead(data: xr.Dataset) -> xr.DataArray:
    """e_ICL minus the error of the posterior mean, ridge regression on the prompt."""
    return last(data.icl_error) - theory(data, "bayes")


def over(data: xr.Dataset, *tasks: int) -> xr.DataArray:
    """The error on fresh tasks over that on training tasks, for some numbers of tasks."""
    fresh, trained = errors(data.sel({K: [*tasks]}))
    return fresh / trained


def fall(data: xr.Dataset, first: int, second: int) -> xr.DataArray:
    """The fall of e_ICL per unit of kappa between two numbers of tasks."""
    e = last(data.icl_error)
    return (e.sel({K: first}) - e.sel({K: second})) * D / (second - first)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Both errors against kappa, with Result 1, the least error and the posterior mean."""
    figure, ((ax,),) = plot.panels()
    d = 4 if int(data[K].max()) < D else D
    one = data.assign_coords({K: data[K] / d})
    for i, (values, says) in enumerate(
        zip(errors(one), ("fresh task", "training task"), strict=True)
    ):
        plot.series(ax, values, K, says, color=i)
    middle = lambda name: theory(one, name).mean("seed")
    plot.theory(ax, one[K], middle("published"), "Result 1")
    plot.reference(ax, one[K], middle("equivalent"), "law at these tasks and d")
    for color, name, says in (
        (2, "best", "least on fresh tasks"),
        (5, "bayes", "ridge on the prompt"),
    ):
        plot.theory(ax, one[K], middle(name), says, color=color)
    plot.reference(ax, None, 1.01, "", color=4, says="the answer 0, of error 1 + ρ")
    plot.finish(ax, "tasks per dimension κ", "error", "", xscale="log", yscale="log")
    return figure


FIGURE = Figure(
    name="diversity_transition",
    source=f"{PAPER}, errors against kappa",
    finding=Finding(
        "Fresh tasks have at least 3 times the error of training tasks for κ ≤ 1/2, 2 at κ = 1, at most 1.2 at 4 and 8",
        rests_on=("TD-9", "TD-10", "TD-23", "TD-25"),
    ),
    theory=THEORY,
    config=Config(dimension=D, length=8 * D, num_prompts=6 * D**2),
    sweep=SOLVED | {"vary": {K: COUNTS}, "seeds": 16},
    quick=QUICK | {"vary": {K: [2, 4, 6]}},
    draw=draw,
    claims=(
        Claim(
            "TD-9",
            origin=interpretation(ABSTRACT),
            statement="“in the low diversity regime, the model tends toward memorization of training tasks” read as: for κ ≤ 1/2 the error on fresh tasks is at least 3 times that on training tasks (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "error on fresh over that on training tasks, each κ = 1/6, 1/4, 1/2",
                lambda data: over(data, 2, 3, 6),
            ),
            bound=at_least(3.0),
            why="It is the abstract's second result, on its low side.",
        ),
        Claim(
            "TD-10",
            origin=interpretation(ABSTRACT),
            statement="“in the high diversity regime, it achieves genuine in-context learning and generalization beyond the scope of pretrained tasks” read as: for κ = 8 the error on fresh tasks is at most 1.2 times that on training tasks (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "error on fresh over that on training tasks, κ = 8",
                lambda data: over(data, 96),
            ),
            bound=at_most(1.2),
            why="It is the abstract's second result, on its high side.",
        ),
        Claim(
            "TD-23",
            origin=derived("measured: ratio of the two errors"),
            statement="At κ = 1, as many tasks as dimensions, the error on fresh tasks is still at least 2 times that on training tasks (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "error on fresh over that on training tasks, κ = 1", lambda data: over(data, D)
            ),
            bound=at_least(2.0),
            why="The tasks then span all dimensions, and the layer has still not learned to regress.",
        ),
        Claim(
            "TD-24",
            origin=derived("measured: ratio of the two errors"),
            statement="At κ = 2 the error on fresh tasks is still at least 1.2 times that on training tasks (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "error on fresh over that on training tasks, κ = 2", lambda data: over(data, 2 * D)
            ),
            bound=at_least(1.2),
            why="The way from one regime to the other is a long one in κ, without a jump.",
        ),
        Claim(
            "TD-25",
            origin=derived("measured: ratio of the two errors"),
            statement="At κ = 4 the error on fresh tasks is at most 1.2 times that on training tasks (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "error on fresh over that on training tasks, κ = 4", lambda data: over(data, 4 * D)
            ),
            bound=at_most(1.2),
            why="With TD-24 it says where generalization begins by one criterion: between κ = 2 and 4.",
        ),
        Claim(
            "TD-26",
            origin=derived("derived: (1 − κ + 1/d)(1 + 1/k) for few tasks as τ, α → ∞, with γ"),
            statement="From κ = 1/6 to 1 the error on fresh tasks falls by 1.1 to 1.8 per unit of κ at d = 12, more than Result 1 falls, 0.72, and than 1 − κ, the part outside of the tasks' span.",
            measure=Measure(
                "fall of the error on fresh tasks per unit of κ, κ 1/6 → 1",
                lambda data: fall(data, 2, 12),
            ),
            bound=between(1.1, 1.8),
            why="It is how fast the error follows the tasks at this size.",
        ),
        Claim(
            "TD-12",
            origin=derived("derived: Γ is the projection on the span of k tasks as τ, α → ∞"),
            statement="Above κ = 2 the error on fresh tasks falls by at most 0.05 per unit of κ.",
            measure=Measure(
                "fall of the error on fresh tasks per unit of κ, κ 2 → 8",
                lambda data: fall(data, 24, 96),
            ),
            bound=at_most(0.05),
            why="Most of the fall is below κ = 2: more than a few tasks per dimension add little.",
        ),
        Claim(
            "TD-13",
            origin=derived("measured: distance to ridge regression on the prompt"),
            statement="At κ = 8 the error on fresh tasks is still at least 0.1 above that of ridge regression on the prompt (α = 8).",
            measure=Measure(
                "error on fresh tasks minus that of ridge on the prompt, κ = 8",
                lambda data: lead(data).sel({K: 96}),
            ),
            bound=at_least(0.1),
            why="“Genuine” in-context learning by one layer of linear attention is not the best there is: its least error is ρ + 1 − 1/(1 + (1 + d(1 + ρ))/l).",
        ),
        Claim(
            "TD-14",
            origin=derived("derived: γ serves the mean of the tasks, whose square is d / k"),
            statement="With k = 2 tasks the error on fresh tasks is at least 1.3 times Result 1 (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "e_ICL over Result 1, k = 2 tasks",
                lambda data: (last(data.icl_error) / theory(data, "published")).sel({K: 2}),
            ),
            bound=at_least(1.3),
            why="In the limit the mean of the tasks vanishes, and with it the weight γ on the squares of labels; with few tasks it does not.",
        ),
        Claim(
            "TD-15",
            origin=derived("derived: deterministic equivalents at the run's tasks"),
            statement="The error on fresh tasks is between 0.85 and 1.2 times the law at the run's own tasks, d, l and n, for all κ (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "e_ICL over the law at the run's tasks, d, l and n, each κ",
                lambda data: last(data.icl_error) / theory(data, "equivalent"),
            ),
            bound=between(0.85, 1.2),
            why="The same law without the limit describes few tasks too.",
        ),
        Claim(
            "TD-21",
            origin=derived("derived: deterministic equivalents at the run's tasks"),
            statement="The error on training tasks is between 0.9 and 1.15 times the law at the run's own tasks, d, l and n, for all κ (d = 12, α = 8, τ = 6).",
            measure=Measure(
                "e_IDG over the law at the run's tasks, d, l and n, each κ",
                lambda data: last(data.idg_error) / theory(data, "equivalent", "idg_error"),
            ),
            bound=between(0.9, 1.15),
            why="The same law gives the second error.",
        ),
    ),
)
