"""A theory as a record of pure functions, with its training algorithms and its checks.

`jaxtheory.check_theory` tests such a record against the contract.
"""

import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import jax
import numpy as np

from jaxtheory.core.replaced import Origin, loss_of_gradient, replace
from jaxtheory.texts.errors import checks_slots
from jaxtheory.texts.faces import as_html, as_text

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    from jaxtheory.core.config import Config as _Config

    C = TypeVar("C", bound=_Config, default=Any)  # configs
    P = TypeVar("P", default=Any)  # problems
    B = TypeVar("B", default=Any)  # batches
    W = TypeVar("W", default=Any)  # parameters
else:
    from typing import TypeVar

    C, P, B, W = TypeVar("C"), TypeVar("P"), TypeVar("B"), TypeVar("W")

    class Generic:
        """Base that vanishes: beartype refuses annotations by a NamedTuple with parameters."""

        def __class_getitem__(cls, parameters: Any) -> "Generic":
            return cls()

        def __mro_entries__(self, bases: tuple) -> tuple:
            return ()


Kind = Literal["equal", "bound", "sample"]  # of a check
# the result of a check: (got, want) or (got, want, standard error), or None if it does not apply
Compared = tuple[Any, ...] | None


def shown(state: Any, problem: Any, config: Any) -> Any:
    """Slot `params` of an algorithm whose state is the parameters."""
    return state


def nothing(key: Any, problem: Any, config: Any) -> tuple:
    """Slot `sample` of an algorithm that needs no batch."""
    return ()


def exact(init: Callable) -> Callable:
    """Mark a slot `init` whose arrays cannot be padded to a larger capacity, a decorator."""
    vars(init)["exact"] = True
    return init


def is_exact(theory: "Theory") -> bool:
    """True if the arrays of a theory cannot be padded, so that each size has its own program."""
    return bool(getattr(theory.init, "exact", False))


class _Parts(NamedTuple):
    """Functions of an algorithm."""

    init: Callable
    step: Callable
    params: Callable = shown
    sample: Callable | None = None


@checks_slots
class Algorithm(_Parts):
    """A training algorithm as pure functions.

    A run can start from given parameters if the state is the parameters, or a NamedTuple with a
    field `params`. An algorithm remembers the functions of the first theory that it was put into,
    and is refused in a theory with another loss, gradient or init.

    Args:
        init: init(key, problem, config) returns the first state, a pytree of arrays.
        step: step(key, t, state, batch, problem, config) returns the next state, of the same
            structure, shapes and dtypes; t counts from 0.
        params: params(state, problem, config) returns the parameters of the theory, which loss,
            metrics and analyses take. By default they are the state.
        sample: sample(key, problem, config) returns the batch of a step. None means the theory's
            sample.

    Example:
        >>> import jax, jaxtheory
        >>> theory = jaxtheory.theories.get("attention_pruning")
        >>> def step(key, t, state, batch, problem, config):
        ...     slope = theory.gradient(state, batch, problem, config)
        ...     return jax.tree.map(lambda w, g: w - 0.1 * g, state, slope)
        >>> fixed_rate = jaxtheory.Algorithm(theory.init, step)
        >>> list(theory.replace(algorithms={"fixed_rate": fixed_rate}).algorithms)
        ['fixed_rate']
    """

    origin: Origin | None = None  # not in the tuple: neither hashed nor in an identity
    again: Callable[[Origin, Origin], "Algorithm | None"] | None = None  # rebuilds it: (old, new)

    def made_for(self, origin: Origin) -> "Algorithm":
        """Return a copy that remembers the functions it was made for."""
        new = Algorithm(*self)
        new.origin, new.again = origin, self.again
        return new

    def _replace(self, /, **parts: Any) -> "Algorithm":
        """Return a copy with other functions.

        With the same step, the copy was made for the same theory and is rebuilt with these
        functions. With another step it is a new algorithm.
        """
        new, again = Algorithm(**self._asdict() | parts), self.again
        if "step" in parts:
            return new
        new.origin = self.origin
        if again is not None:

            def changed(old: Origin, target: Origin) -> "Algorithm | None":
                rebuilt = again(old, target)
                return None if rebuilt is None else rebuilt._replace(**parts)

            new.again = changed
        return new


@checks_slots
class Check(NamedTuple):
    """A statement that holds at every config, which `jaxtheory.verify` tests.

        kind      passes if
        equal     max |got - want| <= tolerance * max |want|
        bound     got <= want (1 + tolerance)
        sample    |got - want| <= 5 standard errors

    Args:
        name: The function and the statement, as in "gradient: equals autodiff".
        source: The place of the statement in its source.
        kind: "equal", "bound" or "sample".
        fn: fn(key, config) returns (got, want), for kind "sample" (got, want, standard error), or
            None if the statement does not apply to this config.
        tolerance: The relative tolerance, at most 1e-11 for kind "equal".

    Example:
        >>> import jax.numpy as jnp, jaxtheory
        >>> def norm(key, config):
        ...     return jnp.linalg.norm(jnp.array([3.0, 4.0])), 5.0
        >>> jaxtheory.Check("norm: Pythagoras", "Elements I.47", "equal", norm).tolerance
        1e-11
    """

    name: str
    source: str
    kind: Kind
    fn: Callable
    tolerance: float = 1e-11


def check(
    name: str, source: str, kind: Kind, tolerance: float = 1e-11
) -> Callable[[Callable], Check]:
    """Make a function the check of a statement, a decorator with the arguments of `Check`."""
    return lambda fn: Check(name, source, kind, fn, tolerance)


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """Return the checks that modules define, each by itself or among its CHECKS, in their order."""
    checks: list[Check] = []
    for module in modules:
        checks += [value for value in vars(module).values() if isinstance(value, Check)]
        checks += getattr(module, "CHECKS", ())
    return tuple(checks)


class _Slots(NamedTuple, Generic[C, P, B, W]):
    """Slots of a theory."""

    name: str
    Config: type[C]
    problem: Callable[[jax.Array, C], P]
    sample: Callable[[jax.Array, P, C], B]
    init: Callable[[jax.Array, P, C], W]
    loss: Callable[[W, B, P, C], jax.Array]
    gradient: Callable[[W, B, P, C], W]
    algorithms: dict[str, Algorithm]
    metrics: Callable[[W, P, C], Mapping[str, Any]]
    baselines: Callable[[P, C], Mapping[str, Any]] = lambda problem, config: {}
    analyses: Callable[[W, P, C], Mapping[str, Any]] = lambda params, problem, config: {}
    dims: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)
    coords: Callable[[C], Mapping[str, Any]] = lambda config: {}
    predict: Callable[[P, C, Any], Mapping[str, Any]] = lambda problem, config, steps: {}
    assumptions: Callable[[P, C], Mapping[str, Any]] = lambda problem, config: {}
    checks: tuple[Check, ...] = ()
    examples: tuple[Any, ...] = ()
    given: Callable | None = None


@checks_slots
class Theory(_Slots[C, P, B, W]):
    """A model with its data law, loss, closed-form gradient, algorithms, predictions and checks.

    docs/add-your-theory.md explains each slot. Each algorithm remembers the functions of the theory
    that it was first put into. `replace` exchanges slots and rebuilds the algorithms. `_replace`
    exchanges slots only, and `simulate`, `sweep`, `plan` and `verify` then refuse an algorithm that
    was made for other functions.

    Args:
        name: The name of the theory.
        Config: The subclass of `jaxtheory.Config` with the fields of the theory.
        problem: problem(key, config) returns the data law of a run, a pytree of arrays.
        sample: sample(key, problem, config) returns a batch.
        init: init(key, problem, config) returns the first parameters.
        loss: loss(params, batch, problem, config) returns a number.
        gradient: gradient(params, batch, problem, config) returns the gradient of the loss with
            respect to params, of their structure.
        algorithms: Training algorithms by name; the first is the default.
        metrics: metrics(params, problem, config) returns arrays by name, at each recorded step.
        baselines: baselines(problem, config) returns, for some metrics, values that are appended
            along the last axis.
        analyses: analyses(params, problem, config) returns arrays by name, at the last step.
        dims: A mapping from metrics and analyses to the names of their dimensions.
        coords: coords(config) returns labels by dimension.
        predict: predict(problem, config, steps) returns predicted curves by metric name, or by
            "metric:label", with a leading axis for steps. `steps` is a NumPy array; the other
            arguments are traced.
        assumptions: assumptions(problem, config) returns pairs (holds, margin) by name.
        checks: Statements that `verify` tests.
        examples: Configs at which `verify` tests them.
        given: A function of a user's arrays that returns a fixed problem, or None.

    Example:
        >>> import jaxtheory
        >>> theory = jaxtheory.theories.get("random_walk")
        >>> theory.name, list(theory.algorithms)[0]
        ('random_walk', 'reduced')
    """

    dropped: dict[str, str] = {}  # noqa: RUF012  (algorithms that `replace` dropped -> the reason)
    derived: Callable  # the loss whose gradient the slot `gradient` holds

    if not TYPE_CHECKING:

        @functools.wraps(_Slots.__new__)
        def __new__(cls, *slots: Any, **named: Any) -> "Theory":
            theory = super().__new__(cls, *slots, **named)
            derived, algorithms = loss_of_gradient(theory), theory.algorithms
            origin = Origin(*(getattr(theory, slot) for slot in Origin._fields))
            if isinstance(algorithms, dict) and any(map(_is_new, algorithms.values())):
                origin = origin._replace(loss=derived)
                marked = {n: x.made_for(origin) if _is_new(x) else x for n, x in algorithms.items()}
                theory = super().__new__(cls, **theory._asdict() | {"algorithms": marked})
            theory.derived = derived
            return theory

        @classmethod
        def _make(cls, slots: Any) -> "Theory":
            return cls(*slots)

    def _face(self) -> tuple[str, dict[str, str]]:
        return f"Theory {self.name}", {
            "fields": ", ".join(getattr(self.Config, "__dataclass_fields__", ())),
            "algorithms": ", ".join(self.algorithms),
            "checks": str(len(self.checks)),
            "examples": str(len(self.examples)),
        }

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def _replace(self, /, **slots: Any) -> "Theory":
        """Return a theory with other slots and the same algorithms; compare `replace`."""
        new = Theory(**self._asdict() | slots)
        new.dropped = {n: why for n, why in self.dropped.items() if n not in new.algorithms}
        if new.gradient is self.gradient:
            new.derived = self.derived
        return new

    def replace(self, **slots: Any) -> "Theory":
        """Return the theory with other functions in some slots and its algorithms rebuilt for them.

        An algorithm that `from_optax` made from the theory's gradient is rebuilt for another loss,
        gradient or init, with the same optimizer, learning rate, projection and rescaling. In the
        theories of this package these are sgd, momentum, adam, sign and sgd_cosine. An algorithm
        that contains a replaced function and cannot be rebuilt is dropped; the default is the first
        that remains. A loss without a gradient gets `jax.grad(loss)`.

        With another problem, sample, init, loss or gradient, the slots checks, predict and
        assumptions are emptied unless they are given, because they describe the old functions. With
        another loss and no `metrics`, metrics and analyses whose name contains loss, gradient or
        hessian are renamed to original_NAME, because they are computed from the old loss.

        Args:
            **slots: The new values of slots, by name.

        Returns:
            A theory.

        Raises:
            InputError: A slot is unknown or is not a function, or no algorithm can be rebuilt.

        Example:
            >>> import jax, jax.numpy as jnp, jaxtheory
            >>> theory = jaxtheory.theories.get("low_rank")
            >>> def loss(params, batch, problem, config):
            ...     decay = sum(jnp.sum(w**2) for w in jax.tree.leaves(params))
            ...     return theory.loss(params, batch, problem, config) + 0.01 * decay
            >>> list(theory.replace(loss=loss).algorithms)
            ['sgd', 'momentum', 'adam', 'sign', 'sgd_cosine']
        """
        new: Theory = replace(self, slots)
        return new


class TheoryModule(Protocol[C, W]):
    """A module that defines a theory, for type checkers."""

    @property
    def THEORY(self) -> Theory[C, Any, Any, W]: ...


def _is_new(algorithm: Any) -> bool:
    """True for an algorithm that has not been put into a theory yet."""
    return isinstance(algorithm, Algorithm) and algorithm.origin is None


def outputs(theory: Theory) -> dict[str, list[str]]:
    """Return the names of metrics, analyses and predictions in a dataset of the default config.

    They have their dimensions and are not computed.
    """

    def evaluate(key: jax.Array) -> tuple[Mapping, Mapping, Mapping]:
        problem = theory.problem(key, config)
        params = theory.init(key, problem, config)
        return (
            theory.metrics(params, problem, config),
            theory.analyses(params, problem, config),
            theory.predict(problem, config, np.zeros(1, np.int32)),
        )

    config = theory.Config()
    metrics, analyses, curves = jax.eval_shape(evaluate, jax.random.key(0))
    dims = {name: f"({', '.join(dim)})" for name, dim in theory.dims.items()}
    return {
        "metrics": [name + dims.get(name, "") for name in metrics],
        "analyses": [name + dims.get(name, "") for name in analyses],
        "predictions": [
            "predicted_" + name.replace(":", "_") + dims.get(name.partition(":")[0], "")
            for name in curves
        ],
    }
