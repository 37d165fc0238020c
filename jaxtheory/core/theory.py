"""A theory as a record of pure functions: `Theory`, its `Algorithm`s and its `Check`s;
`check_theory` tests a record against the contract.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from jaxtheory.core.replaced import Origin, loss_of_gradient, replace

Compared = (
    tuple[Any, ...] | None
)  # what a check returns: (got, want), or (got, want, standard error); None where it does not apply


def shown(state: Any, problem: Any, config: Any) -> Any:
    """`params` of an algorithm whose state is the parameters."""
    return state


def nothing(key: Any, problem: Any, config: Any) -> tuple:
    """`sample` of an algorithm that needs no batch."""
    return ()


class _Parts(NamedTuple):
    """The functions of an algorithm."""

    init: Callable
    step: Callable
    params: Callable = shown
    sample: Callable | None = None


class Algorithm(_Parts):
    """A training algorithm, in the parametrization that suits it.

    init(key, problem, config) -> State
    step(key, t, state, batch, problem, config) -> State, with t counted from 0
    params(state, problem, config) -> the theory's Params, what loss, metrics and analyses see; by
    default the state sample(key, problem, config) -> Batch, or None for the theory's own sample;
    `nothing` where there are no batches

    A run can start from given parameters when State is Params itself or a NamedTuple with a field
    `params`. An algorithm remembers the functions of the first theory that it was put into, and is
    refused in a theory whose loss, gradient or init is another one.
    """

    origin: Origin | None = None  # no slots of the tuple: neither hashed nor part of an identity
    again: Callable[[Origin, Origin], "Algorithm | None"] | None = None  # (old, new): rebuilt

    def made_for(self, origin: Origin) -> "Algorithm":
        """A copy that says for which functions it was made."""
        new = Algorithm(*self)
        new.origin, new.again = origin, self.again
        return new

    def _replace(self, /, **parts: Any) -> "Algorithm":
        """A copy with other functions. With another step it is another algorithm; with the same it
        was made for the same theory, and is rebuilt with these functions.
        """
        new, again = Algorithm(**self._asdict() | parts), self.again
        if "step" in parts:
            return new
        new.origin = self.origin
        if again is not None:

            def changed(old: Origin, other: Origin) -> "Algorithm | None":
                found = again(old, other)
                return None if found is None else found._replace(**parts)

            new.again = changed
        return new


class Check(NamedTuple):
    """A statement that holds at every config: fn(key, config) -> (got, want), or (got, want,
    standard error); None where it does not apply.

    kind "equal": largest |got - want| <= tolerance times the largest |want| (tolerance <= 1e-11);
    kind "bound": got <= want (1 + tolerance);
    kind "sample": |got - want| <= 5 standard errors.
    """

    name: str
    source: str
    kind: str
    fn: Callable
    tolerance: float = 1e-11


class _Slots(NamedTuple):
    """The slots of a theory."""

    name: str
    Config: type
    problem: Callable
    sample: Callable
    init: Callable
    loss: Callable
    gradient: Callable
    algorithms: dict[str, Algorithm]
    metrics: Callable
    baselines: Callable = lambda problem, config: {}
    analyses: Callable = lambda params, problem, config: {}
    dims: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (an immutable default of a NamedTuple)
    coords: Callable = lambda config: {}
    predict: Callable = lambda problem, config, steps: {}
    assumptions: Callable = lambda problem, config: {}
    checks: tuple[Check, ...] = ()
    examples: tuple[Any, ...] = ()
    given: Callable | None = None


class Theory(_Slots):
    """A model, its data law, loss, closed-form gradient, algorithms, predictions and checks. See
    docs/add-your-theory.md for each slot. `steps` of predict is concrete (NumPy), all else traced.

    Each algorithm remembers the functions of the theory that it was first put into. `_replace`
    exchanges slots alone, and an algorithm that was made for other ones is refused by `simulate`,
    `sweep`, `plan` and `verify`; `replace` rebuilds the algorithms as well.
    """

    dropped: dict[str, str] = {}  # noqa: RUF012  (algorithms that `replace` dropped, and why)
    derived: Callable  # the loss whose gradient the slot `gradient` holds

    if not TYPE_CHECKING:

        @functools.wraps(_Slots.__new__)
        def __new__(cls, *slots: Any, **named: Any) -> "Theory":
            theory = super().__new__(cls, *slots, **named)
            derived, given = loss_of_gradient(theory), theory.algorithms
            origin = Origin(*(getattr(theory, slot) for slot in Origin._fields))
            if isinstance(given, dict) and any(map(_is_new, given.values())):
                origin = origin._replace(loss=derived)
                marked = {n: x.made_for(origin) if _is_new(x) else x for n, x in given.items()}
                theory = super().__new__(cls, **theory._asdict() | {"algorithms": marked})
            theory.derived = derived
            return theory

        @classmethod
        def _make(cls, slots: Any) -> "Theory":
            return cls(*slots)

    def _replace(self, /, **slots: Any) -> "Theory":
        """A theory with other slots and the same algorithms. See `replace`."""
        new = Theory(**self._asdict() | slots)
        new.dropped = {n: why for n, why in self.dropped.items() if n not in new.algorithms}
        if new.gradient is self.gradient:
            new.derived = self.derived
        return new

    def replace(self, **slots: Any) -> "Theory":
        """The theory with other functions in some slots, which its algorithms then train.

        An algorithm made by `from_optax` from the theory's gradient (in each theory that ships:
        sgd, momentum, adam and sgd_cosine) is rebuilt for another loss, gradient or init, with the
        same optimizer, learning rate, projection and rescaling. One that brings what was replaced
        and cannot be rebuilt is dropped, and the default is the first that remains. A loss without
        a gradient gets `jax.grad(loss)`. With another problem, sample, init, loss or gradient the
        slots checks, predict and assumptions are emptied unless they are given, because they speak
        of the old functions. With another loss and no `metrics`, metrics and analyses whose name
        contains loss, gradient or hessian are renamed to original_NAME, because they are computed
        from the old loss.

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
            ['sgd', 'momentum', 'adam', 'sgd_cosine']
        """
        found: Theory = replace(self, slots)
        return found


def _is_new(algorithm: Any) -> bool:
    """True for an algorithm that has not been put into a theory yet."""
    return isinstance(algorithm, Algorithm) and algorithm.origin is None


def outputs(theory: Theory) -> dict[str, list[str]]:
    """The names of metrics and analyses with their dimensions, read from shapes alone."""

    def both(key: jax.Array) -> tuple[dict, dict]:
        problem = theory.problem(key, config)
        params = theory.init(key, problem, config)
        return theory.metrics(params, problem, config), theory.analyses(params, problem, config)

    config = theory.Config()
    shapes = jax.eval_shape(both, jax.random.key(0))
    dims = {name: f"({', '.join(dim)})" for name, dim in theory.dims.items()}
    return {
        title: [name + dims.get(name, "") for name in shape]
        for title, shape in zip(("metrics", "analyses"), shapes, strict=True)
    }
