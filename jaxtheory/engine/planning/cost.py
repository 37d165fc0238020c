"""Cost of the functions of a theory, counted from their jaxprs, and the config fields they read.

Counts are turned into seconds by the rates of one core of a small machine. They choose layouts,
which must not depend on the machine, and give the rough times of a plan that is not measured.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtheory.code import traces
from jaxtheory.core.config import Config
from jaxtheory.core.theory import Algorithm, Theory
from jaxtheory.engine.request.jaxprs import called, reads

# exp and log are vectorized, and cost little more than a product
_SLOW = frozenset("erf_inv erf erfc pow lgamma digamma atan2 sin cos tan asin acos".split())
_MOVED = frozenset(
    "gather dynamic_slice scatter scatter-add scatter_add scatter_min scatter_max "
    "dynamic_update_slice".split()
)
_FACTORED = frozenset(
    "eigh svd cholesky lu qr geqrf householder_product triangular_solve schur eig".split()
)
_ORDERED = frozenset("sort top_k approx_top_k cumsum cumprod cummax cummin cumlogsumexp".split())

_TRACES = 64  # counts that are cached; each entry keeps the functions of a theory alive


class Work(NamedTuple):
    """Work of one evaluation of a function.

    equations: equations of the jaxpr. bytes: bytes written. flops: floating-point operations of
    matrix products. slow, moved, drawn: entries computed by slow functions, moved by index, drawn
    at random. ordered: entries sorted, times log2 of the length. factored: operations of
    factorizations. largest: bytes of the largest array.
    """

    equations: float = 0.0
    bytes: float = 0.0
    flops: float = 0.0
    slow: float = 0.0
    moved: float = 0.0
    drawn: float = 0.0
    ordered: float = 0.0
    factored: float = 0.0
    largest: int = 0

    def plus(self, other: "Work", times: float = 1) -> "Work":
        """Return this work plus `times` the other."""
        sums = [a + times * b for a, b in zip(self[:-1], other[:-1], strict=True)]
        return Work._make([*sums, max(self.largest, other.largest)])

    def amortize(self, lanes: int) -> "Work":
        """Return the work per lane when lanes run together and share the equations."""
        return self._replace(equations=self.equations / lanes)

    @property
    def seconds(self) -> float:
        return sum(count * rate for count, rate in zip(self[:-1], _RATES, strict=True))


# seconds per unit, in the order of the fields, fitted to functions of all theories; those of bytes
# and flops are fitted to whole sweeps, where much of the data written stays in registers
_RATES = (1.5e-7, 3.5e-11, 4e-11, 2e-8, 5e-10, 4e-9, 2e-9, 1e-9)


def _work(jaxpr: Any) -> Work:
    """Count the work of a jaxpr.

    The bodies of scans count `length` times, loops of `ops.fallback` zero times, and other loops
    once.
    """
    total = Work()
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        inner = called(eqn)
        if not inner or name in _MOVED:
            total = total.plus(_of_equation(eqn))
            continue
        times = eqn.params["length"] if name == "scan" else 1
        if name == "while" and [e.primitive.name for e in inner[0].eqns] == ["not"]:
            continue
        for part in map(_work, inner):
            total = total.plus(part, times)
    return total


def _of_equation(eqn: Any) -> Work:
    """Count the work of one equation."""
    name, shaped = eqn.primitive.name, lambda vs: [v.aval for v in vs if hasattr(v.aval, "shape")]
    read = max((math.prod(a.shape) for a in shaped(eqn.invars)), default=0)
    elements = sum(math.prod(a.shape) for a in shaped(eqn.outvars))
    sizes = [math.prod(a.shape) * getattr(a.dtype, "itemsize", 8) for a in shaped(eqn.outvars)]
    one = Work(equations=1, bytes=sum(sizes), largest=max(sizes, default=0))
    if name == "dot_general":
        (contract, _), _ = eqn.params["dimension_numbers"]
        depth = math.prod(eqn.invars[0].aval.shape[d] for d in contract)
        return one._replace(flops=2 * depth * elements)
    if name in _SLOW:
        return one._replace(slow=elements)
    if name in _MOVED:
        updates = eqn.invars[-1].aval.shape if name.startswith("scatter") else ()
        return one._replace(moved=math.prod(updates) if updates else elements)
    if name.startswith("random_") or name == "threefry2x32":
        return one._replace(drawn=sum(sizes) / 4)
    if name in _ORDERED:
        longest = eqn.invars[0].aval.shape[eqn.params.get("dimension", eqn.params.get("axis", -1))]
        return one._replace(ordered=read * math.log2(max(longest, 2)))
    if name in _FACTORED:
        *batch, m, n = eqn.invars[0].aval.shape
        return one._replace(factored=math.prod(batch) * m * n * min(m, n))
    return one


def nbytes(tree: Any) -> int:
    """Return the bytes of the arrays of a pytree."""
    leaves = jax.tree.leaves(tree)
    return sum(math.prod(x.shape) * getattr(x.dtype, "itemsize", 8) for x in leaves)


def _counted(function: Callable, *args: Any) -> Work:
    """Count the work of a function for arguments of these shapes."""
    return _work(jax.make_jaxpr(function)(*args).jaxpr)


def problem_and_state(theory: Theory, algorithm: str, config: Config) -> tuple[Any, Any, Any]:
    """Return a key, and the shapes of a problem and of a state."""
    key = jax.random.key(0, impl="threefry2x32")
    problem = jax.eval_shape(theory.problem, key, config)
    return key, problem, jax.eval_shape(theory.algorithms[algorithm].init, key, problem, config)


class Alike:
    """A config that equals all configs with leaves of the same structure, shapes and types.

    Properties of a trace with one of them hold for the others, so that it serves as a cache key.
    """

    def __init__(self, config: Config):
        leaves, structure = jax.tree.flatten(config)
        kinds = [(np.shape(x), jnp.result_type(x), isinstance(x, int | float)) for x in leaves]
        self.config, self.key = config, (structure, tuple(kinds), jnp.result_type(float))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def step_work(theory: Theory, algorithm: str, config: Config) -> tuple[Work, int, int]:
    """Return the work of one step, the bytes of a problem and the bytes of a state."""
    alg = theory.algorithms[algorithm]
    slots = theory.problem, alg.sample or theory.sample, alg.init, alg.step
    return _step_work(slots, traces.digest((*slots, theory.Config)), Alike(config))


@functools.lru_cache(_TRACES)
def _step_work(slots: tuple[Callable, ...], _code: str, alike: Alike) -> tuple[Work, int, int]:
    draw, sample, init, step = slots
    config, key = alike.config, jax.random.key(0, impl="threefry2x32")
    problem = jax.eval_shape(draw, key, config)
    state = jax.eval_shape(init, key, problem, config)

    def one(key: Any, state: Any, problem: Any, config: Config) -> Any:
        batch = sample(key, problem, config)
        return step(key, jnp.int32(0), state, batch, problem, config)

    return _counted(one, key, state, problem, config), nbytes(problem), nbytes(state)


class Costs(NamedTuple):
    """Work of each function that a run calls besides its steps, and bytes of their results.

    problem: bytes of a problem. seen: of one record of the metrics. ended: of the analyses.
    curves: of the predictions.
    """

    draw: Work
    begin: Work
    metrics: Work
    analyses: Work
    baselines: Work
    predict: Work
    problem: int
    metrics_size: int
    ended: int
    curves: int


def costs(theory: Theory, algorithm: str, config: Config, records: np.ndarray) -> Costs:
    """Count the functions that a run calls besides its steps."""
    key, problem, state = problem_and_state(theory, algorithm, config)
    alg = theory.algorithms[algorithm]
    metrics, analyses = (_of_state(slot, alg) for slot in (theory.metrics, theory.analyses))
    predict = lambda problem, config: theory.predict(problem, config, records)
    return Costs(
        _counted(theory.problem, key, config),
        _counted(alg.init, key, problem, config),
        _counted(metrics, state, problem, config),
        _counted(analyses, state, problem, config),
        _counted(theory.baselines, problem, config),
        _counted(predict, problem, config),
        nbytes(problem),
        nbytes(jax.eval_shape(metrics, state, problem, config)),
        nbytes(jax.eval_shape(analyses, state, problem, config)),
        nbytes(jax.eval_shape(predict, problem, config)),
    )


def _of_state(slot: Callable, algorithm: Algorithm) -> Callable:
    """Metrics or analyses as a function of the state."""
    return lambda state, problem, config: slot(
        algorithm.params(state, problem, config), problem, config
    )


def run_seconds(theory: Theory, algorithm: str, config: Config, steps: int, records: int) -> float:
    """Estimate the seconds of the steps and records of one run."""
    _, problem, state = problem_and_state(theory, algorithm, config)
    record = _counted(
        _of_state(theory.metrics, theory.algorithms[algorithm]), state, problem, config
    )
    step, _, _ = step_work(theory, algorithm, config)
    return steps * step.seconds + records * record.seconds


def read_by_problem(
    theory: Theory, algorithm: str, template: Config, names: Sequence[str]
) -> frozenset[str]:
    """Return the config fields that `problem`, `sample` or `baselines` read.

    Runs that agree in these fields share a problem and its batches.
    """
    sample = theory.algorithms[algorithm].sample or theory.sample
    slots = theory.problem, sample, theory.baselines
    code = traces.digest((*slots, theory.Config))
    return _read_by_problem(slots, code, Alike(template), frozenset(names))


@functools.lru_cache(_TRACES)
def _read_by_problem(
    slots: tuple[Callable, ...], _code: str, alike: Alike, names: frozenset[str]
) -> frozenset[str]:
    draw, sample, baselines = slots
    template, key = alike.config, jax.random.key(0, impl="threefry2x32")
    problem, words = jax.eval_shape(draw, key, template), sorted(names)
    return frozenset(
        reads(draw, template, words, key)
        | reads(sample, template, words, key, problem)
        | reads(baselines, template, words, problem)
    )
