"""Do longer prompts help, and is what the layer does on its training tasks memorization?

alpha = l / d from 1/2 to 16 at kappa = 1/2, tau = 2, rho = 1/10; beside it the posterior mean on
the k tasks, which knows them by heart.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import xarray as xr
from jaxtyping import Array

from jaxtheory import Claim, Figure, observables, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived, last
from jaxtheory.theories.task_diversity import Config, Params, Problem, data

from . import PAPER, QUICK, SOLVED, THEORY, theory

D = 12
L = "length"
LENGTHS = [6, 12, 24, 48, 96, 192]
TESTS = 600  # prompts for the posterior mean


class Tests(NamedTuple):
    """Prompts of training tasks, each with its task."""

    w: Array
    prompts: data.Prompts


def tests(key: Array, problem: Problem, config: Config) -> Tests:
    """Draw prompts of the k tasks in turn."""
    tasks = problem.tasks
    w = jnp.tile(tasks, (TESTS // len(tasks) + 1, 1))[:TESTS]
    return Tests(w, data.prompts(key, w, config.replace(num_prompts=TESTS)))


def by_heart(_params: Params, drawn: Tests, problem: Problem, config: Config) -> Array:
    """The error of the posterior mean on training tasks, by enumeration of the k tasks.

    Exact over queries; a mean over the drawn examples.
    """
    x, y, *_ = drawn.prompts
    residuals = y[:, :, None] - jnp.einsum("nld,kd->nlk", x, problem.tasks)
    scores = -jnp.sum(residuals**2, axis=1) / (2 * config.noise_variance)
    miss = jax.nn.softmax(scores, axis=1) @ problem.tasks - drawn.w
    return config.noise_variance + jnp.mean(jnp.sum(miss**2, axis=1)) / config.dimension.real


POSTERIOR = observables.on_batch(THEORY._replace(sample=tests), by_heart)


def ends(found: xr.Dataset) -> xr.DataArray:
    """The error on fresh tasks at the shortest and longest prompts over that at alpha = 4."""
    e = last(found.icl_error)
    return e.sel({L: [LENGTHS[0], LENGTHS[-1]]}) / e.sel({L: 4 * D}, drop=True)


def later(found: xr.Dataset) -> xr.DataArray:
    """The error on training tasks at each length over that at half of it."""
    e = last(found.idg_error)
    return e / e.shift({L: 1}).isel({L: slice(1, None)})


def behind(found: xr.Dataset) -> xr.DataArray:
    """The error on training tasks over that of the posterior mean, up to alpha = 4."""
    return (last(found.idg_error) / last(found.posterior_mean)).sel({L: LENGTHS[:4]})


def draw(found: xr.Dataset) -> plot.Drawing:
    """Both errors against alpha, with their limits, and the posterior mean on the k tasks."""
    figure, ((ax,),) = plot.panels()
    d = D if int(found[L].max()) > D else 4
    one = found.assign_coords({L: found[L] / d})
    fresh, trained, posterior = (
        last(one[name]) for name in ("icl_error", "idg_error", "posterior_mean")
    )
    plot.series(ax, fresh, L, "fresh task", color=0, markers=True)
    plot.series(ax, trained, L, "training task", color=1, markers=True)
    plot.series(ax, posterior, L, "posterior mean on the k tasks", color=2, markers=True)
    for color, name in enumerate(("icl_error", "idg_error")):
        limit = theory(one, "limit", name).mean("seed")
        plot.theory(ax, one[L], limit, "limit of e_IDG" if color else "Result 1", color=color)
    plot.reference(ax, None, 1.1, "", says="the answer 0, of error 1 + ρ")
    plot.finish(ax, "examples per dimension α", "error", "", xscale="log", yscale="log")
    return figure


FIGURE = Figure(
    name="diversity_context",
    source=f"derived: the limits of {PAPER} against alpha",
    finding=Finding(
        "Longer prompts lower the error on training tasks; on fresh ones it is larger at α = 16 than at 4 (κ = 1/2, τ = 2)",
        rests_on=("TD-33", "TD-34"),
    ),
    theory=THEORY,
    config=Config(dimension=D, num_prompts=2 * D**2, num_tasks=D // 2, noise_variance=0.1),
    sweep=SOLVED | {"vary": {L: LENGTHS}, "seeds": 16, "observe": {"posterior_mean": POSTERIOR}},
    quick=QUICK | {"vary": {L: [2, 4, 8]}},
    draw=draw,
    claims=(
        Claim(
            "TD-33",
            origin=derived("derived: the term e_IDG (1 − κ)/(τξ) of the limit, ξ = (1 + ρ)/α"),
            statement="For κ = 1/2, τ = 2 and ρ = 0.1 the error on fresh tasks falls and rises again with the length of prompts: at α = 1/2 and at α = 16 it is at least 1.05 times that at α = 4.",
            measure=Measure("e_ICL over that at α = 4, each α = 1/2, 16", ends),
            bound=at_least(1.05),
            why="In the limit it is a term of the weights outside of the tasks' span, which the noise of β alone holds small.",
        ),
        Claim(
            "TD-34",
            origin=derived("derived: the limit of e_IDG"),
            statement="For κ = 1/2, τ = 2 and ρ = 0.1 the error on training tasks falls with each doubling of the length of prompts, from α = 1/2 to 16.",
            measure=Measure("e_IDG over that at half the length, each α from 1 to 16", later),
            bound=at_most(1.0),
            why="Whoever looks at training tasks alone does not see that longer prompts hurt.",
        ),
        Claim(
            "TD-35",
            origin=derived("measured: e_IDG over the error of the posterior mean on the k tasks"),
            statement="On k = 6 training tasks in d = 12 dimensions the error of the layer is at least 3 times that of the posterior mean that knows the k tasks, for α = 1/2 to 4 (τ = 2, ρ = 0.1).",
            measure=Measure(
                "e_IDG over the error of the posterior mean on the k tasks, α ≤ 4", behind
            ),
            bound=at_least(3.0),
            why="To know the tasks by heart is far better than what the layer has learned of them.",
        ),
    ),
)
