"""Training algorithms from a theory's gradient and an optax optimizer.

`standard` makes the five that every theory of this package has.
"""

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxtheory.code import constant_draws
from jaxtheory.code.keys import is_key
from jaxtheory.core.replaced import Origin, same
from jaxtheory.core.theory import Algorithm, Theory, shown
from jaxtheory.texts.errors import InputError, code_line, line, place, tried

_EXPECTED = (
    "expected a function of the config that returns an optax.GradientTransformation, such as "
    "lambda config: optax.adam(config.learning_rate)"
)


_OPTAX = Path(optax.__file__).parent
_SCALED = (
    "optax tests a number here that comes from the config and is traced; for AdamW with warm-up "
    "and cosine write lambda config: jaxtheory.networks.adamw(config.learning_rate, warmup=5, "
    "horizon=20); make another schedule of plain numbers, unit = "
    "optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 20), then scale it, lambda config: "
    "optax.adam(lambda t: config.learning_rate * unit(t)), or stretch it, unit(t / "
    "config.decay_steps)"
)
_PAIRS = (
    "optax.lookahead trains pairs of fast and slow parameters, but a theory has one set; keep the "
    "slow ones in the state of the optimizer, as docs/own-optimizer.md shows"
)
_KEYS = (
    "draws random numbers from a key that is the same in every run and step; keep a typed key, "
    "jax.random.key(0), in its state and draw from it in update, as optax.add_noise does: "
    "jaxtheory makes it a key of the run; or declare the numbers as meant to be equal, with "
    "jaxtheory.draws.fixed_key(0)"
)
_MEMORY = 2**32 - 1  # folded into the key of init; keys of initializers count from 0


class InitAndGradient(NamedTuple):
    """The slots of a theory that `from_optax` uses.

    They are init(key, problem, config) and gradient(params, batch, problem, config).
    """

    init: Callable
    gradient: Callable


class OptimizerState(NamedTuple):
    """State of an algorithm made by `from_optax`.

    Args:
        params: The parameters, of the structure that the theory's init returns.
        memory: The state of the optax optimizer, such as its moments and its step count.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.theories.get("low_rank")
        >>> key = jaxtheory.run_key(0, 0)
        >>> run = jaxtheory.simulate(theory, theory.Config(), key, steps=2, algorithm="adam")
        >>> isinstance(run.state, jaxtheory.OptimizerState), int(run.state.memory[0].count)
        (True, 2)
    """

    params: Any
    memory: Any


def _call_optax(what: str, optimizer: Callable, function: Callable, *args: Any) -> Any:
    """Call a function that calls optax.

    The InputError says what to write instead if optax tests a traced number, or expects pairs of
    parameters. It names the line of the optimizer if no other line of the user was reached.
    """
    try:
        return tried(what, function, *args)
    except InputError as error:
        cause = error.__cause__
        if cause is None:  # it is an InputError of the user's function
            raise
        files = [frame.filename for frame in traceback.extract_tb(cause.__traceback__)]
        words, at = line(cause), place(cause) or code_line(optimizer)
        if any(Path(file).is_relative_to(_OPTAX) for file in files):
            if isinstance(cause, jax.errors.ConcretizationTypeError):
                words = f"{_SCALED}; {type(cause).__name__}"
            elif isinstance(cause, AttributeError) and cause.name in ("fast", "slow"):
                words = f"{_PAIRS}; {words}"
        raise InputError(f"{what}: {words}{at}") from cause


def _require_like(what: str, new: Any, old: Any) -> None:
    """Raise InputError if a tree changes its structure, its shapes or its kind of numbers."""
    got, want = jax.tree.structure(new), jax.tree.structure(old)
    if str(got) != str(want):
        raise InputError(f"the optimizer's {what}: structure {got}, expected {want}")
    for (path, x), y in zip(jax.tree.leaves_with_path(new), jax.tree.leaves(old), strict=True):
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "the array"
        if jnp.shape(x) != jnp.shape(y):
            raise InputError(
                f"the optimizer's {what}: {name} has shape {jnp.shape(x)}, expected {jnp.shape(y)}"
            )
        dtypes = jnp.result_type(x), jnp.result_type(y)
        if len({jnp.issubdtype(dtype, np.floating) for dtype in dtypes}) > 1:
            real = jnp.issubdtype(dtypes[1], np.floating)
            hint = "" if real else "; integers are not trained: keep them in the problem"
            raise InputError(
                f"the optimizer's {what}: {name} holds {dtypes[0]}, expected {dtypes[1]}{hint}"
            )


def require_optimizer(what: str, optimizer: Any) -> None:
    """Raise InputError if an optimizer is not a function."""
    if not callable(optimizer):
        raise InputError(f"{what} is a {type(optimizer).__name__}, {_EXPECTED}")


def _build_rule(optimizer: Callable, config: Any) -> Any:
    """Return optimizer(config), which has functions init and update."""
    rule = _call_optax("optimizer(config)", optimizer, optimizer, config)
    if not all(callable(getattr(rule, part, None)) for part in ("init", "update")):
        kind = "number" if isinstance(rule, jax.Array) else type(rule).__name__
        raise InputError(f"optimizer(config) is a {kind}, {_EXPECTED}{code_line(optimizer)}")
    return rule


def first_memory(key: Any, optimizer: Callable, params: Any, config: Any) -> Any:
    """Return the initial state of optimizer(config) for some parameters.

    Keys in the state, from which the optimizer draws, depend on their place, on the seed that the
    user gave and on the key of the run.
    """
    with jax.numpy_dtype_promotion("standard"):  # optax mixes counts with floats
        rule = _build_rule(optimizer, config)
        init = lambda p: jax.tree.map(jnp.asarray, rule.init(p))
        memory = _call_optax("the optimizer's init", optimizer, init, params)
        if not str(getattr(optimizer, "__module__", "")).startswith("jaxtheory."):
            _require_keys_of_run(optimizer, rule, params, memory)
    leaves, tree = jax.tree.flatten(memory)
    own = [_folded(key, i, leaf) if is_key(leaf) else leaf for i, leaf in enumerate(leaves)]
    return jax.tree.unflatten(tree, own)


def _folded(key: Any, place: int, leaf: Any) -> Any:
    """Return keys of the shape of others, which are folded into the key of the run."""
    key = jax.random.fold_in(jax.random.fold_in(key, _MEMORY), place)
    words = jax.random.key_data(leaf)
    fold = jax.vmap(lambda words: functools.reduce(jax.random.fold_in, [*words], key))
    return fold(words.reshape(-1, words.shape[-1])).reshape(leaf.shape)


def _require_keys_of_run(optimizer: Callable, rule: Any, params: Any, memory: Any) -> None:
    """Raise InputError if an optimizer draws from a key that is not a typed key of its state."""
    of_params = constant_draws.attach_origins(params, constant_draws.OF_RUN)
    memory_origins = constant_draws.attach_origins(
        memory,
        lambda x: (
            constant_draws.OF_RUN
            if is_key(x) or jnp.issubdtype(x.dtype, np.floating)
            else constant_draws.CONSTANT
        ),
    )
    for part, *args in (("init", of_params), ("update", of_params, memory_origins, of_params)):
        what = f"the optimizer's {part}"
        trace = _call_optax(what, optimizer, constant_draws.follow, getattr(rule, part), *args)
        for at in sorted(trace.draws):
            raise InputError(f"{what} {_KEYS}{at or code_line(optimizer)}")


def updated(optimizer: Callable, slope: Any, state: OptimizerState, config: Any) -> tuple[Any, Any]:
    """Return the parameters and the optimizer's state after a step along a gradient."""
    with jax.numpy_dtype_promotion("standard"):
        arguments = slope, state.memory, state.params
        rule = _build_rule(optimizer, config)
        new = _call_optax("the optimizer's update", optimizer, rule.update, *arguments)
    if not isinstance(new, tuple) or len(new) != 2:
        raise InputError(f"the optimizer's update is a {type(new).__name__}, expected a pair")
    update, memory = new
    _require_like("updates", update, slope)
    _require_like("state", memory, state.memory)
    return optax.apply_updates(state.params, update), memory


def descended(params: Any, slope: Any, rate: Any) -> Any:
    """Return params - rate * slope; rate is a number, or a tree of numbers that prefixes params."""
    rates = jax.tree.broadcast(rate, slope)
    return optax.apply_updates(params, jax.tree.map(lambda g, eta: -eta * g, slope, rates))


def _compose(gradient: Callable, rescaled: Callable) -> Callable:
    """Return the gradient rescaled(gradient(params, batch, problem, config), problem, config)."""

    def slope(params: Any, batch: Any, problem: Any, config: Any) -> Any:
        return rescaled(gradient(params, batch, problem, config), problem, config)

    return slope


def from_optax(
    theory: Any, optimizer: Any, project: Callable = shown, rescaled: Callable | None = None
) -> Algorithm:
    """Make a training algorithm from a theory's gradient and an optax optimizer.

    A step is params <- project(params + update, problem, config), where the update is that of
    optimizer(config) for the theory's gradient; the first parameters are those of the theory's
    init. A run can start from given parameters, with the optimizer in its initial state.
    `Theory.replace` rebuilds the algorithm for another gradient.

    A schedule is a function of the step count and may read the config. optax tests some numbers
    when it makes a schedule, such as the peak of `warmup_cosine_decay_schedule` and `decay_steps`.
    Use plain numbers for these and scale or stretch the schedule: `lambda config:
    optax.adam(lambda t: config.learning_rate * unit(t))`. AdamW with warm-up and cosine is
    `jaxtheory.networks.adamw`.

    An optimizer that draws, such as `optax.noisy_sgd`, keeps a typed key in its state. It becomes a
    key of the run, with the optimizer's own seed folded in, so that seeds have different noise. An
    optimizer that draws from any other key is refused.

    Args:
        theory: The theory whose gradient and init are used.
        optimizer: A function of the config that returns an optax.GradientTransformation, or another
            object with its functions `init` and `update`, such as optax.MultiSteps. Its learning
            rate, momentum, decay and schedule are config fields that a sweep varies.
        project: project(params, problem, config) returns the parameters after an update, by default
            unchanged.
        rescaled: rescaled(slope, problem, config), if the gradient is that of a theory, rescaled in
            this way. `Theory.replace` then rescales another gradient in the same way.

    Returns:
        An Algorithm whose state is an OptimizerState.

    Raises:
        InputError: `theory` is not a theory or `optimizer` is not a function. When the algorithm
            runs: `optimizer` fails or returns something else, draws from a key of its own, or its
            updates or its state change their structure or shapes, or become integers.

    Example:
        >>> import optax, jaxtheory
        >>> theory = jaxtheory.theories.get("low_rank")
        >>> lion = jaxtheory.from_optax(theory, lambda config: optax.lion(config.learning_rate))
        >>> mine = theory.replace(algorithms={"lion": lion})
        >>> run = jaxtheory.simulate(mine, mine.Config(), jaxtheory.run_key(0, 0), steps=2)
        >>> run.metrics["loss"].shape
        (3,)
    """
    if not isinstance(theory, Theory | InitAndGradient):
        raise InputError(f"theory is a {type(theory).__name__}, expected a jaxtheory.Theory")
    require_optimizer("optimizer", optimizer)
    made_of = InitAndGradient(theory.init, theory.gradient)

    def init(key: Any, problem: Any, config: Any) -> OptimizerState:
        params = made_of.init(key, problem, config)
        return OptimizerState(params, first_memory(key, optimizer, params, config))

    def step(
        key: Any, t: Any, state: OptimizerState, batch: Any, problem: Any, config: Any
    ) -> OptimizerState:
        slope = made_of.gradient(state.params, batch, problem, config)
        moved, memory = updated(optimizer, slope, state, config)
        return OptimizerState(project(moved, problem, config), memory)

    def again(old: Origin, new: Origin) -> Algorithm | None:
        """Return None for other parameters, or if the algorithm follows another direction."""
        if not same(made_of.init, old.init):
            return None
        gradient = made_of.gradient
        if not same(new.gradient, old.gradient):
            if rescaled is None and not same(gradient, old.gradient):
                return None
            gradient = new.gradient if rescaled is None else _compose(new.gradient, rescaled)
        return from_optax(InitAndGradient(new.init, gradient), optimizer, project, rescaled)

    made_by = Algorithm(init, step, lambda state, problem, config: state.params)
    made_by.again = again
    if isinstance(theory, Theory):
        slots = {slot: getattr(theory, slot) for slot in Origin._fields}
        made_by.origin = Origin(**slots | {"loss": theory.derived})
    return made_by


def _learning_rate(_t: Any, config: Any) -> Any:
    """Return the learning rate eta, the same at every step."""
    return config.learning_rate


def standard(
    init: Callable,
    gradient: Callable,
    rate: Callable = _learning_rate,
    project: Callable = shown,
    rescaled: Callable | None = None,
) -> dict[str, Algorithm]:
    """Return the algorithms that every theory of this package has, made by `from_optax`.

    With rate(t, config) = eta, t from 0, b2 = 0.999 and config fields momentum = beta,
    decay_steps = tau, adam_epsilon = eps and warmup_steps = tau_w:

        sgd         params - eta g
        momentum    params - eta m,  m <- beta m + g
        adam        params - eta min((t + 1) / tau_w, 1) m^ / (sqrt(v^) + eps),
                    m <- beta m + (1 - beta) g,  m^ = m / (1 - beta^(t + 1)),
                    v <- b2 v + (1 - b2) g^2,    v^ = v / (1 - b2^(t + 1))
        sign        params - eta sign(g), with sign(0) = 0
        sgd_cosine  params - eta (1 + cos(pi min(t / tau, 1))) / 2 g

    If init and gradient belong to a reduced form, sgd, momentum and sgd_cosine equal the runs of
    the literal parameters once the gradient is rescaled to the rates of these. Adam and sign
    descent do not commute with a change of parameters: their runs are those of the form which init
    and gradient have.
    rescaled(slope, problem, config) rescales a gradient that `Theory.replace` puts in its place.
    """

    def decayed(t: Any, config: Any) -> Any:
        done = jnp.minimum(t / jnp.asarray(config.decay_steps, float), 1)
        return rate(t, config) * (1 + jnp.cos(jnp.pi * done)) / 2

    def warmed(t: Any, config: Any) -> Any:
        warmup = jnp.maximum(jnp.asarray(config.warmup_steps, float), 1)
        return rate(t, config) * jnp.minimum((t + 1) / warmup, 1)

    at = lambda config: lambda t: rate(t, config)
    optimizers = {
        "sgd": lambda config: optax.sgd(at(config)),
        "momentum": lambda config: optax.sgd(at(config), momentum=config.momentum),
        "adam": lambda config: optax.adam(
            lambda t: warmed(t, config), b1=config.momentum, eps=config.adam_epsilon
        ),
        "sign": lambda config: optax.sign_sgd(at(config)),
        "sgd_cosine": lambda config: optax.sgd(lambda t: decayed(t, config)),
    }
    slots = InitAndGradient(init, gradient)
    return {name: from_optax(slots, rule, project, rescaled) for name, rule in optimizers.items()}
