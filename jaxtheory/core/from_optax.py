"""An algorithm from a theory's gradient and an optax optimizer, and the four that every room
lists.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxtheory.core.errors import InputError, line, place, tried
from jaxtheory.core.replaced import Origin, same
from jaxtheory.core.theory import Algorithm, Theory, shown

_EXPECTED = (
    "expected a function of the config that gives an optax.GradientTransformation, such as lambda "
    "config: optax.adam(config.learning_rate)"
)


_OPTAX = Path(optax.__file__).parent
_SCALED = (
    "optax tests a number of the config here, which a sweep traces; make the schedule of plain "
    "numbers, unit = optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 20), then scale it, lambda "
    "config: optax.adam(lambda t: config.learning_rate * unit(t)), or stretch it, unit(t / "
    "config.decay_steps)"
)


class InitAndGradient(NamedTuple):
    """What `from_optax` reads of a theory: init(key, problem, config) and gradient(params, batch,
    problem, config).
    """

    init: Callable
    gradient: Callable


class OptimizerState(NamedTuple):
    """Parameters, and what the optimizer remembers."""

    params: Any
    memory: Any


def _asked(what: str, function: Callable, *args: Any) -> Any:
    """function(*args), which calls optax; where that tests a traced number, the InputError says how
    to write it instead.
    """
    try:
        return tried(what, function, *args)
    except InputError as error:
        cause = error.__cause__
        raised = None if cause is None else cause.__traceback__
        files = [frame.filename for frame in traceback.extract_tb(raised)]
        within = any(Path(file).is_relative_to(_OPTAX) for file in files)
        if within and isinstance(cause, TypeError) and "Tracer" in line(cause):
            raise InputError(f"{what}: {_SCALED}{place(cause)}") from cause
        raise


def _require_like(what: str, new: Any, old: Any) -> None:
    """Raise InputError where a tree has another structure, other shapes or another kind of numbers
    than before.
    """
    found, want = jax.tree.structure(new), jax.tree.structure(old)
    if str(found) != str(want):
        raise InputError(f"the optimizer's {what}: structure {found}, expected {want}")
    for (path, x), y in zip(jax.tree.leaves_with_path(new), jax.tree.leaves(old), strict=True):
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "the array"
        if jnp.shape(x) != jnp.shape(y):
            raise InputError(
                f"the optimizer's {what}: {name} has shape {jnp.shape(x)}, expected {jnp.shape(y)}"
            )
        dtypes = jnp.result_type(x), jnp.result_type(y)
        if len({jnp.issubdtype(dtype, np.floating) for dtype in dtypes}) > 1:
            raise InputError(
                f"the optimizer's {what}: {name} holds {dtypes[0]}, expected {dtypes[1]}"
            )


def descended(params: Any, slope: Any, rate: Any) -> Any:
    """params - rate slope, leaf by leaf; rate a number, or a tree of them along params."""
    rates = jax.tree.broadcast(rate, slope)
    return optax.apply_updates(params, jax.tree.map(lambda g, eta: -eta * g, slope, rates))


def _along(gradient: Callable, rescaled: Callable) -> Callable:
    """rescaled(gradient(params, batch, problem, config), problem, config) as a gradient."""

    def slope(params: Any, batch: Any, problem: Any, config: Any) -> Any:
        return rescaled(gradient(params, batch, problem, config), problem, config)

    return slope


def from_optax(
    theory: Any, optimizer: Any, project: Callable = shown, rescaled: Callable | None = None
) -> Algorithm:
    """The algorithm params <- project(params + update, problem, config), update of
    optimizer(config) for the theory's gradient, from the theory's init.

    optimizer: a function of the config that gives an optax.GradientTransformation, so that learning
    rate, momentum, decay and schedule are fields that a sweep varies: `lambda config:
    optax.adam(config.learning_rate)`. A schedule is a function of the count of steps, and may read
    the config too. Where optax tests a number when a schedule is made (the peak of
    `warmup_cosine_decay_schedule`, `decay_steps`), make it of plain numbers and scale or stretch
    it: `lambda config: optax.adam(lambda t: config.learning_rate * unit(t))`. A run can start from
    given parameters; the optimizer then begins at rest. Raises InputError where optimizer is no
    function, fails or gives something else, and where its updates or its state change structure or
    shapes, or become integers.

    The algorithm is of this theory's gradient, and `Theory.replace` rebuilds it for another one.
    rescaled(slope, problem, config) is for a gradient that is a theory's, rescaled: another
    gradient is then rescaled in the same way.
    """
    if not isinstance(theory, Theory | InitAndGradient):
        raise InputError(f"theory is a {type(theory).__name__}, expected a jaxtheory.Theory")
    if not callable(optimizer):
        raise InputError(f"optimizer is a {type(optimizer).__name__}, {_EXPECTED}")

    made_of = InitAndGradient(theory.init, theory.gradient)

    def made(config: Any) -> optax.GradientTransformation:
        rule = _asked("optimizer(config)", optimizer, config)
        if not isinstance(rule, optax.GradientTransformation):
            kind = "number" if isinstance(rule, jax.Array) else type(rule).__name__
            raise InputError(f"optimizer(config) is a {kind}, {_EXPECTED}")
        return rule

    def init(key: Any, problem: Any, config: Any) -> OptimizerState:
        params = made_of.init(key, problem, config)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes counts with floats
            rest = lambda p: jax.tree.map(jnp.asarray, made(config).init(p))
            memory = _asked("the optimizer's init", rest, params)
        return OptimizerState(params, memory)

    def step(
        key: Any, t: Any, state: OptimizerState, batch: Any, problem: Any, config: Any
    ) -> OptimizerState:
        slope = made_of.gradient(state.params, batch, problem, config)
        with jax.numpy_dtype_promotion("standard"):
            given = slope, state.memory, state.params
            new = _asked("the optimizer's update", made(config).update, *given)
        if not isinstance(new, tuple) or len(new) != 2:
            raise InputError(f"the optimizer's update is a {type(new).__name__}, expected a pair")
        update, memory = new
        _require_like("updates", update, slope)
        _require_like("state", memory, state.memory)
        moved = optax.apply_updates(state.params, update)
        return OptimizerState(project(moved, problem, config), memory)

    def again(old: Origin, new: Origin) -> Algorithm | None:
        """None where it trains another form of the parameters, or along another direction."""
        if not same(made_of.init, old.init):
            return None
        gradient = made_of.gradient
        if not same(new.gradient, old.gradient):
            if rescaled is None and not same(gradient, old.gradient):
                return None
            gradient = new.gradient if rescaled is None else _along(new.gradient, rescaled)
        return from_optax(InitAndGradient(new.init, gradient), optimizer, project, rescaled)

    made_by = Algorithm(init, step, lambda state, problem, config: state.params)
    made_by.again = again
    if isinstance(theory, Theory):
        slots = {slot: getattr(theory, slot) for slot in Origin._fields}
        made_by.origin = Origin(**slots | {"loss": theory.derived})
    return made_by


def _learning_rate(_t: Any, config: Any) -> Any:
    """eta at every step."""
    return config.learning_rate


def standard(
    init: Callable,
    gradient: Callable,
    rate: Callable = _learning_rate,
    project: Callable = shown,
    rescaled: Callable | None = None,
) -> dict[str, Algorithm]:
    """The algorithms that every room lists, made by `from_optax`. With rate(t, config) = eta,
    config fields momentum = beta and decay_steps = tau, b2 = .999 and eps = 1e-8:

        sgd         params - eta g
        momentum    params - eta m,  m <- beta m + g
        adam        params - eta m^ / (sqrt(v^) + eps),  m <- beta m + (1 - beta) g,
                    v <- b2 v + (1 - b2) g^2,  m^ = m / (1 - beta^t),  v^ = v / (1 - b2^t)
        sgd_cosine  params - eta (1 + cos(pi min(t / tau, 1))) / 2 g

    Where init and gradient are of a reduced form, a gradient rescaled to the rates at which the
    literal parameters carry it makes sgd, momentum and sgd_cosine the literal runs. Adam does not
    commute with a change of parameters: its run is that of the form which init and gradient have.
    rescaled(slope, problem, config) says how, for a gradient that `Theory.replace` puts in its
    place.
    """

    def decayed(t: Any, config: Any) -> Any:
        done = jnp.minimum(t / jnp.asarray(config.decay_steps, float), 1)
        return rate(t, config) * (1 + jnp.cos(jnp.pi * done)) / 2

    at = lambda config: lambda t: rate(t, config)
    optimizers = {
        "sgd": lambda config: optax.sgd(at(config)),
        "momentum": lambda config: optax.sgd(at(config), momentum=config.momentum),
        "adam": lambda config: optax.adam(at(config), b1=config.momentum),
        "sgd_cosine": lambda config: optax.sgd(lambda t: decayed(t, config)),
    }
    made = InitAndGradient(init, gradient)
    return {name: from_optax(made, rule, project, rescaled) for name, rule in optimizers.items()}
