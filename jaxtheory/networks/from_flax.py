"""A theory of a Flax module and a task.

The parameters that the theory's loss and metrics see are the variables of the module by collection:
`params`, which are trained, and others such as `batch_stats`, which a step carries.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp

from jaxtheory.code import traces
from jaxtheory.core import docstrings
from jaxtheory.core.config import Config, canonical, fields
from jaxtheory.core.from_optax import (
    OptimizerState,
    first_memory,
    require_optimizer,
    updated,
)
from jaxtheory.core.replaced import Origin, same
from jaxtheory.core.task import Task
from jaxtheory.core.theory import Algorithm, Check, Theory, exact
from jaxtheory.networks import trial
from jaxtheory.networks.linen_module import PARAMS, LinenModule
from jaxtheory.networks.nnx_module import NnxModule
from jaxtheory.ops import passes
from jaxtheory.texts.errors import InputError, tried

TASK_EXPECTED = "expected a jaxtheory.Task, such as jaxtheory.tasks.random_walk"
_ALONE = "optimizer"  # name of the algorithm of one optimizer


def from_flax(
    name: str,
    module: Any,
    task: Any,
    *,
    optimizer: Any,
    Config: Any = None,
    examples: tuple = (),
) -> Theory:
    """Make a theory of a Flax module that is trained on a task.

    The theory works in sweeps, simulations and stores as any other. Its parameters are all
    variables of the module, its gradient is automatic differentiation. The loss and the metrics
    call the module with `train=False`, a training step with `train=True`, if its `__call__` takes
    this argument; `training` and `is_training` are other names for it, and `deterministic` and
    `use_running_average` are its opposite. A step carries what is not a parameter, such as batch
    statistics. In a step, dropout and all other streams of Flax draw from its key. The metric
    `loss` is the loss on the batch `problem.test`, if there is one. Lengths that shape weights are
    `size` or `static` fields of the config. Sweeps do not pad them.

    Args:
        name: The name of the theory.
        module: A function of the config that returns a flax.linen Module, or a function of the
            config and rngs that returns a flax.nnx Module. It is called on the inputs of the task
            and returns outputs [B, L, n]. Attention maps that it sows as "attention", of shape
            [B, head, query, key], reach the metrics of the task.
        task: The task, a `jaxtheory.Task`.
        optimizer: A function of the config that returns an optax.GradientTransformation, or a
            dictionary of such functions by the names of the algorithms.
        Config: The class of the config, a subclass of that of the task with further fields. By
            default it is that of the task.
        examples: Small configs on which `verify` runs. By default there is one, the default config.

    Returns:
        A Theory.

    Raises:
        InputError: On the first example, the task, the module or an optimizer fails, performs input
            or output, differs from call to call, or draws from a key that is not that of the run;
            the outputs do not fit the task; dropout or batch normalization is off in training; or
            an argument is of the wrong type.

    Example:
        >>> import flax.linen as nn, jax, jax.numpy as jnp, jaxtheory, optax
        >>> class Config(jaxtheory.Config):
        ...     rate: float = jaxtheory.traced(0.1, "eta", "learning rate", "(0, inf)")
        >>> def sample(key, problem, config):
        ...     x = jax.random.normal(key, (8, 1, 3))
        ...     return x, x[:, :, 0]
        >>> task = jaxtheory.Task(
        ...     "first_entry", Config, problem=lambda key, config: (), sample=sample,
        ...     inputs=lambda batch, problem, config: batch[0],
        ...     loss=lambda outputs, batch, problem, config: jnp.mean(
        ...         (outputs[:, :, 0] - batch[1]) ** 2),
        ...     outputs=lambda config: 1,
        ...     metrics=lambda outputs, maps, problem, config: {
        ...         "at_one": outputs((jnp.ones((1, 1, 3)), jnp.ones((1, 1))))[0, 0, 0]})
        >>> theory = jaxtheory.from_flax(
        ...     "linear", lambda config: nn.Dense(1), task,
        ...     optimizer=lambda config: optax.sgd(config.rate))
        >>> run = jaxtheory.simulate(theory, Config(), jaxtheory.run_key(0, 0), steps=200)
        >>> round(float(run.metrics["at_one"][-1]), 2)
        1.0
    """
    config_type = Config
    network = _network(name, module)
    if not isinstance(task, Task):
        known = f"task = {task!r}" if isinstance(task, str) else f"task is a {type(task).__name__}"
        raise InputError(f"{name}: {known}, {TASK_EXPECTED}")
    optimizers = _optimizers(name, optimizer)
    config_type = task.Config if config_type is None else config_type
    if not isinstance(config_type, type) or not issubclass(config_type, task.Config):
        raise InputError(
            f"{name}: Config = {config_type!r}: must be a subclass of the config of the task "
            f"{task.name}, so that it has the fields of the data law"
        )

    parts = _Parts(name, network, task, optimizers, config_type, examples or (config_type(),))
    theory = _theory(parts)
    example = parts.examples[0]

    def draw(key: Any, config: Any) -> tuple[Any, Any, Any]:
        problem = task.problem(key, config)
        batch = task.sample(key, problem, config)
        return task.inputs(batch, problem, config), batch, problem

    def of_task(key: Any, config: Any) -> Any:
        inputs, batch, problem = draw(key, config)
        outputs = jnp.zeros((*inputs.shape[:2], task.outputs(config)))
        return inputs, task.loss(outputs, batch, problem, config)

    def of_module(key: Any, inputs: Any, config: Any) -> dict[str, Any]:
        _require_exact(name, config)
        variables = network.variables(key, inputs, config)
        called = {
            "evaluation": network.run(variables, inputs, config),
            "training": network.run(variables, inputs, config, key),
        }
        for outputs, _ in called.values():
            _require_outputs(name, task, outputs, inputs, config)
        return {"init": variables, **called}

    def of_rule(rule: Callable, key: Any, config: Any) -> Any:
        weights = network.variables(key, draw(key, config)[0], config)[PARAMS]
        memory = first_memory(key, rule, weights, config)
        return updated(rule, weights, OptimizerState(weights, memory), config)

    labels = {x: f"optimizer[{x!r}]" if x != _ALONE else x for x in optimizers}
    tested: dict[str, Callable] = {
        "task": of_task,
        trial.MODULE: lambda key, config: of_module(key, draw(key, config)[0], config),
        **{labels[x]: functools.partial(of_rule, rule) for x, rule in optimizers.items()},
    }
    with traces.under(traces.code_of(theory)):
        trial.require_no_files(name, module)
        trial.require_parts(name, tested, example)
        at = canonical(example, jnp.result_type(float))
        inputs = jax.eval_shape(draw, jax.random.key(0), at)[0]
        trial.require_keys(name, of_module, inputs, example)
        # without those of attention maps if there are none
        looked_at = trial.metrics(theory, example)
    return theory._replace(dims={x: dims for x, dims in task.dims.items() if x in looked_at})


class _Parts(NamedTuple):
    """What the theory of a network is made of."""

    name: str
    network: LinenModule | NnxModule
    task: Task
    optimizers: dict[str, Callable]
    Config: Any
    examples: tuple


def _theory(parts: _Parts, interventions: tuple[passes.Intervention, ...] = ()) -> Theory:
    """The theory of a network, with interventions in each pass through it."""
    name, network, task, optimizers, config_type = parts[:5]

    def edits(params: Any, batch: Any, problem: Any, config: Any) -> list[Any]:
        def heads(params: Any, batch: Any) -> list[Any]:
            inputs = task.inputs(batch, problem, config)
            with passes.changed(()) as found:
                tried(f"{name}.module", network.run, params, inputs, config)
            return found

        call = passes.Call(params, batch, problem, config, heads)
        return [tried(f"{name}: an intervention", make, call) for make in interventions]

    def run(params: Any, batch: Any, problem: Any, config: Any, key: Any = None) -> tuple[Any, Any]:
        from jaxtheory.networks.linen_module import streams  # noqa: F401  (so that it is hashed)
        from jaxtheory.networks.modes import arguments  # noqa: F401

        inputs = task.inputs(batch, problem, config)
        with passes.changed(edits(params, batch, problem, config)):
            pair = tried(f"{name}.module", network.run, params, inputs, config, key)
        _require_outputs(name, task, pair[0], inputs, config)
        return pair

    @exact
    def init(key: Any, problem: Any, config: Any) -> Any:
        _require_exact(name, config)
        inputs = lambda: task.inputs(task.sample(key, problem, config), problem, config)
        template = jax.eval_shape(inputs)
        zeros = jnp.zeros(template.shape, template.dtype)
        return tried(f"{name}.module", network.variables, key, zeros, config)

    def loss(params: Any, batch: Any, problem: Any, config: Any) -> Any:
        return task.loss(run(params, batch, problem, config)[0], batch, problem, config)

    def gradient(params: Any, batch: Any, problem: Any, config: Any) -> Any:
        return jax.grad(loss)(params, batch, problem, config)

    def training_slope(key: Any, params: Any, batch: Any, problem: Any, config: Any) -> Any:
        """Return the gradient in the trained collection while training, and the others."""
        collections = {collection: x for collection, x in params.items() if collection != PARAMS}

        def trained(weights: Any) -> Any:
            outputs, new = run({PARAMS: weights, **collections}, batch, problem, config, key)
            return task.loss(outputs, batch, problem, config), new

        return jax.grad(trained, has_aux=True)(params[PARAMS])

    def maps_of(params: Any, batch: Any, problem: Any, config: Any) -> Any:
        inputs = task.inputs(batch, problem, config)
        with passes.changed(edits(params, batch, problem, config)):
            return tried(f"{name}.module", network.maps, params, inputs, config)

    def attention_map(params: Any, problem: Any, config: Any, key: Any) -> Any:
        """Return the mean attention [layer, head, query, key] over the test sequences.

        Without test sequences it is over a batch drawn from a key.
        """
        batch = getattr(problem, "test", None)
        if batch is None or not _is_batch(task, batch, problem, config):
            if key is None:
                raise InputError(f"{name}: there are no test sequences; pass key= to draw a batch")
            batch = task.sample(key, problem, config)
        maps = maps_of(params, batch, problem, config)
        if maps is None:
            raise InputError(
                f"{name}: the network keeps no attention maps; let it sow them as 'attention', of "
                "shape (batch, head, query, key)"
            )
        weight = getattr(batch, "weight", None)
        equal = jnp.full(maps.shape[1], 1 / maps.shape[1], maps.dtype)
        return jnp.einsum("b,lbhqk->lhqk", equal if weight is None else weight, maps)

    vars(init)["attention_map"] = attention_map  # which `observables.attention` finds
    vars(init)["under"] = functools.partial(_theory, parts)  # for `interventions.intervene`

    def metrics(params: Any, problem: Any, config: Any) -> dict:
        outputs = lambda batch: run(params, batch, problem, config)[0]
        maps = lambda batch: maps_of(params, batch, problem, config)
        measures = task.metrics(outputs, maps, problem, config)
        test = getattr(problem, "test", None)
        if "loss" in measures or test is None or not _is_batch(task, test, problem, config):
            return measures
        return {"loss": task.loss(outputs(test), test, problem, config), **measures}

    def predict(problem: Any, config: Any, steps: Any) -> dict:
        level = lambda best: jnp.broadcast_to(jnp.asarray(best, float), steps.shape)
        return {x: level(best) for x, best in task.optimal(problem, config).items()}

    metrics.__doc__, predict.__doc__ = _meanings(task)

    def differences(key: Any, config: Any) -> tuple[Any, Any]:
        return _differences(key, config, (task, init, loss, gradient))

    return Theory(
        name=name,
        Config=config_type,
        problem=task.problem,
        sample=task.sample,
        init=init,
        loss=loss,
        gradient=gradient,
        algorithms={x: _algorithm(init, training_slope, rule) for x, rule in optimizers.items()},
        metrics=metrics,
        dims=task.dims,
        predict=predict,
        checks=(
            Check(
                "gradient: autodiff equals central differences of the loss",
                "autodiff",
                "bound",
                differences,
            ),
        ),
        examples=parts.examples,
    )


def _network(name: Any, module: Any) -> LinenModule | NnxModule:
    """Return the module as functions of its variables, by its number of arguments."""
    if not isinstance(name, str) or not name:
        raise InputError(f"name = {name!r}: the name of a theory must be a non-empty string")
    expected = "expected a function of the config, or of the config and rngs"
    if not inspect.isroutine(module) and not hasattr(module, "func"):
        raise InputError(
            f"{name}: module is a {type(module).__name__}, {expected}, such as "
            "lambda config: nn.Dense(1)"
        )
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    arguments = inspect.signature(module).parameters.values()
    count = sum(x.kind in kinds and x.default is x.empty for x in arguments)
    if count not in (1, 2):
        raise InputError(f"{name}: module takes {count} arguments, {expected}")
    return LinenModule(name, module) if count == 1 else NnxModule(name, module)


def _optimizers(name: str, optimizer: Any) -> dict[str, Callable]:
    """Return the optimizers by the names of their algorithms."""
    optimizers = dict(optimizer) if isinstance(optimizer, Mapping) else {_ALONE: optimizer}
    if not optimizers:
        raise InputError(f"{name}: optimizer = {{}}: must have at least one entry, the default")
    for label, rule in optimizers.items():
        where = f"optimizer[{label!r}]" if isinstance(optimizer, Mapping) else "optimizer"
        require_optimizer(f"{name}: {where}", rule)
    return optimizers


def _algorithm(init: Callable, slope: Callable, optimizer: Callable) -> Algorithm:
    """Return the algorithm that trains the parameters and carries the other variables.

    slope(key, params, batch, problem, config) returns the gradient in the parameters and the other
    variables after the step.
    """

    def first(key: Any, problem: Any, config: Any) -> OptimizerState:
        params = init(key, problem, config)
        memory = first_memory(key, optimizer, params[PARAMS], config)
        return OptimizerState(params, memory)

    def step(
        key: Any, _t: Any, state: OptimizerState, batch: Any, problem: Any, config: Any
    ) -> OptimizerState:
        slopes, collections = slope(key, state.params, batch, problem, config)
        trained = OptimizerState(state.params[PARAMS], state.memory)
        moved, memory = updated(optimizer, slopes, trained, config)
        return OptimizerState({**collections, PARAMS: moved}, memory)

    def again(old: Origin, new: Origin) -> Algorithm:
        """Train along another gradient, which leaves the other variables as they are."""
        if same(old.gradient, new.gradient):
            return _algorithm(new.init, slope, optimizer)

        def new_slope(
            _key: Any, params: Any, batch: Any, problem: Any, config: Any
        ) -> tuple[Any, Any]:
            slopes = new.gradient(params, batch, problem, config)
            return slopes[PARAMS], {x: tree for x, tree in params.items() if x != PARAMS}

        return _algorithm(new.init, new_slope, optimizer)

    algorithm = Algorithm(first, step, lambda state, problem, config: state.params)
    algorithm.again = again
    return algorithm


def _require_exact(name: str, config: Config) -> None:
    """Raise InputError if a size is padded."""
    for field in fields(type(config)).values():
        size = getattr(config, field.name)
        if field.kind == "size" and size.value is not None:
            raise InputError(
                f"{name}: {field.name} ({field.symbol}) is padded to {size.cap}, but the weights "
                "of a network cannot be padded; use buckets='exact' or 'auto'"
            )


def _require_outputs(name: str, task: Task, outputs: Any, inputs: Any, config: Any) -> None:
    """Raise InputError if the outputs of a module do not fit the loss of the task."""
    want = (*inputs.shape[:2], task.outputs(config))
    if getattr(outputs, "shape", None) != want:
        got = getattr(outputs, "shape", None) or f"a {type(outputs).__name__}"
        raise InputError(
            f"{name}: the module returns {got} on inputs {inputs.shape}, but the loss of the task "
            f"{task.name} takes {want}, which is (batch, position, outputs)"
        )


def _meanings(task: Task) -> tuple[str, str]:
    """Return the docstrings of the metrics of a task and of their best possible values."""
    of_loss = docstrings.sentence(docstrings.doc(task.loss)) or "loss of the task"
    rows = {"loss": f"{of_loss}, on the test sequences"}
    rows |= docstrings.meanings(docstrings.doc(task.metrics))
    write = lambda begin: "\n".join(f"{name}  {begin}{text}" for name, text in rows.items())
    return write(""), write("best possible value: ")


def _is_batch(task: Task, test: Any, problem: Any, config: Any) -> bool:
    """True if a record of the problem is of the type of the batches."""
    key = jax.random.key(0)
    batch = jax.eval_shape(lambda: task.sample(key, problem, config))
    return type(test) is type(batch)


def _differences(key: Any, config: Any, slots: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the error of the gradient along a direction, and a bound on it.

    The direction is the mean of that of the gradient and a random one.
    """
    task, init, loss, gradient = slots
    keys = jax.random.split(key, 4)
    problem = task.problem(keys[0], config)
    batch, params = task.sample(keys[1], problem, config), init(keys[2], problem, config)
    slope, unravel = jax.flatten_util.ravel_pytree(gradient(params, batch, problem, config))
    at, _ = jax.flatten_util.ravel_pytree(params)
    noise = jax.random.normal(keys[3], at.shape)
    size = jnp.linalg.norm(slope)
    direction = noise / jnp.linalg.norm(noise) + slope / jnp.where(size > 0, size, 1)
    h = jnp.finfo(at.dtype).eps ** (1 / 3)
    value = lambda sign: loss(unravel(at + sign * h * direction), batch, problem, config)
    above, below = value(1), value(-1)
    bound = 100 * h * size + 100 * h**2 * (1 + jnp.abs(above))
    return jnp.abs((above - below) / (2 * h) - slope @ direction), bound
