"""Does the error on fresh tasks fall twice, with its peak where prompts are as many as weights?

Training prompts are added: tau = n / d^2 from 0.1 to 3, for few tasks (kappa = 1/2) and for many
(kappa = 4); no penalty.
"""

import numpy as np
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
from jaxtheory.theories.task_diversity import Config, laws

from . import ABSTRACT, PAPER, QUICK, SOLVED, THEORY, K, N, theory

D = 12
WEIGHTS = D * (D + 1)  # tau = 1.083
COUNTS = [14, 29, 58, 86, 115, 130, WEIGHTS, 180, 216, 288, 432]
AWAY = [14, 29, 58, 288, 432]  # tau of at most 0.4 or at least 2
FEW, MANY = 6, 48


def error(data: xr.Dataset) -> xr.DataArray:
    """The error on fresh tasks."""
    return last(data.icl_error)


def tops(data: xr.Dataset) -> xr.DataArray:
    """The number of prompts at which the error is largest, over that of weights."""
    return error(data).idxmax(N) / WEIGHTS


def turns(data: xr.Dataset) -> xr.DataArray:
    """The largest of valley / start, valley / peak and end / peak.

    All are below 1 if the error falls, rises and falls again; start and end are at the fewest and
    most prompts, and the valley is the least error between start and peak.
    """
    e = error(data)
    valley, top = valley_of(e), e.max(N)
    return (valley / e.sel({N: 14})).clip(min=valley / top).clip(min=e.sel({N: 432}) / top)


def valley_of(e: xr.DataArray) -> xr.DataArray:
    """The least error before the peak."""
    return e.sel({N: [29, 58, 86]}).min(N)


def second(data: xr.Dataset, k: int) -> xr.DataArray:
    """The error at the most prompts over that in the valley."""
    e = error(data).sel({K: k})
    return e.sel({N: 432}) / valley_of(e)


def distance(data: xr.Dataset, name: str) -> xr.DataArray:
    """log e - log e of the theory, away from the peak."""
    flanks = data.sel({N: AWAY})
    return xr.apply_ufunc(np.log, error(flanks) / theory(flanks, name))


def limits(d: int, k: int) -> tuple[list[float], list[float]]:
    """tau and Result 1 at many n."""
    counts = np.unique(np.geomspace(0.1 * d**2, 3 * d**2, 150).round().astype(int))
    at = Config(dimension=d, length=48 if d == D else d, num_tasks=k)
    values = [float(laws.published(at.replace(num_prompts=int(n)))) for n in counts]
    return [*counts / d**2], [value if np.isfinite(value) else np.nan for value in values]


def draw(data: xr.Dataset) -> plot.Drawing:
    """Medians of both errors against tau, with Result 1 and the law at the run's tasks."""
    figure, (axes,) = plot.panels(data.sizes[K])
    d = 4 if int(data[N].max()) < WEIGHTS else D
    for ax, k in zip(axes, data[K].values, strict=True):
        one = data.sel({K: k}).assign_coords({N: data[N] / d**2})
        medians = {"fresh task": error(one), "training task": last(one.idg_error)}
        for i, (says, values) in enumerate(medians.items()):
            plot.medians(ax, values, N, says, color=i)
        plot.theory(ax, *limits(d, int(k)), "Result 1")
        law = theory(one, "equivalent").median("seed")
        plot.reference(ax, law[N], law.where(np.isfinite(law)), "law at these tasks and d")
        plot.reference(ax, None, 1.01, "", color=4, says="the answer 0, of error 1 + ρ")
        plot.finish(ax, r"$\tau = n / d^2$", "error", f"{k / d:g} d tasks", yscale="log")
        ax.set_ylim(0.1, 1000)
    return figure


FIGURE = Figure(
    name="diversity_double_descent",
    source=f"{PAPER}, errors against tau",
    finding=Finding(
        "With more prompts the error on fresh tasks falls, peaks at n = d(d + 1) and falls again, for κ = 1/2 and κ = 4",
        rests_on=("TD-1", "TD-2"),
    ),
    theory=THEORY,
    config=Config(dimension=D, length=48, num_prompts=432, num_tasks=MANY),
    sweep=SOLVED | {"vary": {K: [FEW, MANY], N: COUNTS}, "seeds": 16},
    quick=QUICK | {"vary": {K: [2, 6], N: [8, 20, 60]}},
    draw=draw,
    claims=(
        Claim(
            "TD-1",
            origin=interpretation(ABSTRACT),
            statement="“We demonstrate a double-descent learning curve with increasing pretraining examples” read as: for κ = 1/2 and κ = 4 (d = 12, α = 4), from τ = 0.1 to 3, the error on fresh tasks falls to a valley, rises to a peak and falls again.",
            measure=Measure(
                "largest of valley/start, valley/peak, end/peak of e_ICL, κ = 1/2 and 4", turns
            ),
            bound=at_most(1.0),
            why="It is the abstract's first result: more prompts can hurt.",
        ),
        Claim(
            "TD-19",
            origin=derived("measured"),
            statement="For κ = 4 and d = 12 the second descent leads below the first valley: at τ = 3 the error on fresh tasks is smaller than in the valley.",
            measure=Measure(
                "error on fresh tasks at τ = 3 over that in the valley, κ = 4",
                lambda data: second(data, MANY),
            ),
            bound=at_most(1.0),
            why="Only then is it worth having more prompts than weights.",
        ),
        Claim(
            "TD-20",
            origin=derived("measured"),
            statement="For κ = 1/2 and d = 12 the second descent does not lead below the first valley up to τ = 3: at τ = 3 the error on fresh tasks is larger than in the valley.",
            measure=Measure(
                "error on fresh tasks at τ = 3 over that in the valley, κ = 1/2",
                lambda data: second(data, FEW),
            ),
            bound=at_least(1.0),
            why="Result 1 has it the other way round, so at this size the limit is misleading here.",
        ),
        Claim(
            "TD-2",
            origin=derived("derived: prompts as many as weights"),
            statement="The peak of the error on fresh tasks is at n = d(d + 1), the number of weights, in each run, for κ = 1/2 and κ = 4, of n in steps of a sixth of that number.",
            measure=Measure(
                "n of the largest error on fresh tasks over d(d + 1), κ = 1/2 and 4", tops
            ),
            bound=between(1.0, 1.0),
            q=1,
            why="τ = 1 is the limit of this threshold; at d = 12 it is τ = 1.083, and the grid does not have n = d².",
        ),
        Claim(
            "TD-3",
            origin=derived("measured: distance to Result 1"),
            statement="At d = 12 the formula of the limit is too low on few tasks: for κ = 1/2 and τ = 2 the log of e_ICL is above that of Result 1 by at least 0.2.",
            measure=Measure(
                "log of e_ICL over Result 1, κ = 1/2, τ = 2",
                lambda data: distance(data, "published").sel({K: FEW, N: 288}),
            ),
            bound=at_least(0.2),
            why="The formula is a limit, and this is the distance to it at a size that one trains at a desk.",
        ),
        Claim(
            "TD-4",
            origin=derived("derived: deterministic equivalents at the run's tasks"),
            statement="Away from the peak, at τ up to 0.4 and from 2 on, the log of e_ICL is within 0.3 of that of the law at the run's own tasks, d, l and n (κ = 1/2 and 4).",
            measure=Measure(
                "log of e_ICL over the law at the run's tasks, τ ≤ 0.4 or ≥ 2, each κ",
                lambda data: distance(data, "equivalent"),
            ),
            bound=between(-0.3, 0.3),
            why="The moments are known at every d, so the law needs no limit.",
        ),
        Claim(
            "TD-5",
            origin=derived("derived: deterministic equivalents"),
            statement="At the peak, n = d(d + 1), the error on fresh tasks is at least 10 times that at τ = 3, for κ = 1/2 and κ = 4.",
            measure=Measure(
                "e_ICL at n = d(d + 1) over that at τ = 3, κ = 1/2 and 4",
                lambda data: error(data).sel({N: WEIGHTS}) / error(data).sel({N: 432}),
            ),
            bound=at_least(10.0),
            why="Without a penalty the peak grows without bound in the limit.",
        ),
    ),
)
