"""The times at which components are learned, from the initial weights, by one number per head.

While a head of rank 1 is small, the entry d of p+ = (k + q) / 2 is p+_d exp(r_d tau), and that of
p- = (k - q) / 2 is p-_d exp(-r_d tau). Here r_d = lambda_d^2 until component d is learned, and 0
from then on, and per unit of eta t

    tau' = 2 v,   v' = 2 sum_d r_d (p+_d^2 exp(2 r_d tau) - p-_d^2 exp(-2 r_d tau))

The head that first brings a component to half of its final value has learned it, and the others go
on without this component.
"""

import functools
from collections.abc import Mapping

import numpy as np
from scipy.integrate import solve_ivp

from jaxtheory.theories.in_context_regression import Config, laws, model

Array = np.ndarray
Rows = tuple[tuple[float, ...], ...]
WEIGHTS = {"v": ("head",), "k": ("head", "component"), "q": ("head", "component")}
OBSERVED = {
    "v": lambda params, problem, config: params.v,
    "k": lambda params, problem, config: params.K[:, 0],
    "q": lambda params, problem, config: params.Q[:, 0],
}


def learning_times(weights: Mapping[str, Array], config: Config) -> Array:
    """The step at which each component reaches half of its final value, for heads of rank 1."""
    spectrum, (a, _) = model.eigenvalues(config), laws.shares(config)
    arrays = spectrum, a, weights["v"], weights["k"], weights["q"]
    rows = (tuple(map(tuple, np.atleast_2d(np.asarray(x, float)))) for x in arrays)
    return np.array(_times(*rows)) / float(config.learning_rate)


@functools.cache
def _times(*rows: Rows) -> tuple[float, ...]:
    """The times in units of eta t; a function of tuples, so that each run is solved once."""
    (spectrum,), (a,), (v,), k, q = (np.array(x) for x in rows)
    plus, minus = (k + q) / 2, (k - q) / 2
    left, now, times = np.ones(len(a), bool), 0.0, np.full(len(a), np.nan)
    while left.any() and len(v):
        found = _next_drop(v, plus, minus, np.where(left, spectrum**2, 0), a)
        if found is None:
            break
        time, v, plus, minus, head, d = found
        now += time
        times[d], left[d] = now, False
        v, plus, minus = (np.delete(x, head, axis=0) for x in (v, plus, minus))
    return tuple(times)


def _next_drop(
    v: Array, plus: Array, minus: Array, rates: Array, a: Array
) -> tuple[float, Array, Array, Array, int, int] | None:
    """The time until a head learns a component, all heads at that time, the head and the component.

    None where no head comes so far.
    """

    def grown(tau: Array) -> tuple[Array, Array]:
        factor = np.exp(np.clip(tau[:, None] * rates, -60, 60))
        return plus * factor, minus / factor

    def slope(_: float, state: Array) -> Array:
        tau, v = np.split(state, 2)
        k_plus_q, k_minus_q = grown(tau)
        return np.concatenate([2 * v, 2 * np.sum(rates * (k_plus_q**2 - k_minus_q**2), axis=1)])

    def learned(state: Array) -> Array:
        tau, v = np.split(state, 2)
        k_plus_q, k_minus_q = grown(tau)
        return np.where(rates > 0, v[:, None] * (k_plus_q**2 - k_minus_q**2) / a, -np.inf)

    def lacking(_: float, state: Array) -> float:
        return float(np.max(learned(state))) - 0.5

    lacking.terminal = True  # type: ignore[attr-defined]
    start = np.concatenate([np.zeros(len(v)), v])
    solved = solve_ivp(slope, (0, 1e7), start, "LSODA", events=lacking, rtol=1e-8, atol=1e-12)
    if not len(solved.t_events[0]):
        return None
    state = solved.y_events[0][0]
    head, d = np.unravel_index(np.argmax(learned(state)), (len(v), len(a)))
    tau, v = np.split(state, 2)
    return float(solved.t_events[0][0]), v, *grown(tau), int(head), int(d)
