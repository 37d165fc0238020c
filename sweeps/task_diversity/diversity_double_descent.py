"""Does the error on fresh tasks fall twice as training prompts are added, and is its peak where
prompts are as many as weights?

tau = n / d^2 from 0.1 to 3, for few tasks (kappa = 1/2) and for many (kappa = 4); no penalty.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import at_least, at_most, between, derived, interpretation, last, printed
from jaxtheory.theories.task_diversity import laws

from . import ABSTRACT, PAPER, QUICK, SOLVED, THEORY, Config, K, N, theory

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


def worse(data: xr.Dataset) -> xr.DataArray:
    """The larger of the ratios of the valley to the start and of the end to the valley, where the
    valley is the least error below the peak, and start and end are at the fewest and most prompts.
    """
    e = error(data).sel({K: MANY})
    valley = e.sel({N: [29, 58, 86]}).min(N)
    return (valley / e.sel({N: 14})).clip(min=e.sel({N: 432}) / valley)


def distance(data: xr.Dataset, name: str) -> xr.DataArray:
    """|log e - log e of the theory| of the medians, away from the peak."""
    found = data.sel({N: AWAY})
    pair = error(found), theory(found, name)
    return np.abs(np.log(pair[0].median("seed")) - np.log(pair[1].median("seed")))


def limits(d: int, k: int) -> tuple[list[float], list[float]]:
    """tau and Result 1 at many n."""
    counts = np.unique(np.geomspace(0.1 * d**2, 3 * d**2, 150).round().astype(int))
    at = Config(dimension=d, length=48 if d == D else d, num_tasks=k)
    values = [float(laws.published(at.replace(num_prompts=int(n)))) for n in counts]
    return [*counts / d**2], [value if np.isfinite(value) else np.nan for value in values]


def draw(data: xr.Dataset) -> plot.Drawing:
    """Medians of both errors against tau, with Result 1 and the law at the run's tasks."""
    title = "The error falls, rises to a peak at n = d(d + 1), and falls again"
    figure, (axes,) = plot.panels(data.sizes[K], title=title)
    d = 4 if int(data[N].max()) < WEIGHTS else D
    for ax, k in zip(axes, data[K].values, strict=True):
        one = data.sel({K: k}).assign_coords({N: data[N] / d**2})
        medians = {"fresh task, median": error(one), "training task, median": last(one.idg_error)}
        for i, (says, values) in enumerate(medians.items()):
            line = {"color": plot.COLORS[i], "marker": plot.MARKERS[i], "markersize": 4}
            ax.plot(values[N], values.median("seed"), label=says, **line)
        plot.theory(ax, *limits(d, int(k)), "Result 1")
        law = theory(one, "equivalent").median("seed")
        plot.reference(ax, law[N], law.where(np.isfinite(law)), "law at these tasks and d")
        plot.finish(ax, r"$\tau = n / d^2$", "error", f"{k / d:g} d tasks", yscale="log")
    return figure


FIGURE = Figure(
    name="diversity_double_descent",
    source=f"{PAPER}, errors against tau",
    theory=THEORY,
    config=Config(dimension=D, length=48, num_prompts=432, num_tasks=MANY),
    sweep=SOLVED | {"vary": {K: [FEW, MANY], N: COUNTS}, "seeds": 16},
    quick=QUICK | {"vary": {K: [2, 6], N: [8, 20, 60]}},
    draw=draw,
    claims=(
        Claim(
            "TD-1",
            origin=printed(ABSTRACT),
            statement="“We demonstrate a double-descent learning curve with increasing pretraining examples”: for κ = 4 the error on fresh tasks falls from τ = 0.1 to a valley below τ = 0.6, and is smaller at τ = 3 than in that valley.",
            measure=worse,
            bound=at_most(1.0),
            statistic="median",
            why="It is the abstract's first result: more prompts can hurt.",
        ),
        Claim(
            "TD-2",
            origin=derived("derived: prompts as many as weights"),
            statement="The peak is at n = d(d + 1), the number of weights, in each run, for κ = 1/2 and κ = 4; n is varied in steps of a tenth of d² around it.",
            measure=tops,
            bound=between(1.0, 1.0),
            statistic="each",
            why="τ = 1 is the limit of this threshold; at d = 12 it is τ = 1.083.",
        ),
        Claim(
            "TD-3",
            origin=interpretation(PAPER, "abstract and Result 1"),
            statement="“sharp asymptotics” read as: at d = 12, away from the peak, τ ≤ 0.4 or τ ≥ 2, the log of the median of e_ICL is within 0.25 of that of the formula.",
            measure=lambda data: distance(data, "published"),
            bound=at_most(0.25),
            expect="fails",
            why="The formula is a limit, and this is the distance to it at a size that one trains at a desk.",
        ),
        Claim(
            "TD-4",
            origin=derived("derived: deterministic equivalents at the run's tasks"),
            statement="Away from the peak the log of the median of e_ICL is within 0.3 of that of the same law at the run's own tasks, d, l and n.",
            measure=lambda data: distance(data, "equivalent"),
            bound=at_most(0.3),
            why="About half of the distance to the formula is that of the moments, which are known at every d.",
        ),
        Claim(
            "TD-5",
            origin=derived("derived: deterministic equivalents"),
            statement="At the peak the error on fresh tasks is at least 10 times that at τ = 3, for κ = 1/2 and κ = 4.",
            measure=lambda data: error(data).sel({N: WEIGHTS}) / error(data).sel({N: 432}),
            bound=at_least(10.0),
            statistic="median",
            why="Without a penalty the peak grows without bound in the limit.",
        ),
    ),
)
