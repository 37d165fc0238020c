"""A theory as a record of pure functions: `Theory`, its `Algorithm`s and its `Check`s; `conform`
tests a record against the contract.
"""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from jaxtheory.core.config import Config, InputError, fields
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
    """A training algorithm, in the parametrisation that suits it.

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

        An algorithm made by `descent` from the theory's gradient (in each theory that ships: sgd,
        momentum, adam and sgd_cosine) is rebuilt for another loss, gradient or init, with the same
        optimizer, learning rate, projection and rescaling. One that brings what was replaced and
        cannot be rebuilt is dropped, and the default is the first that remains. A loss without a
        gradient gets `jax.grad(loss)`. With another problem, sample, init, loss or gradient the
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


_THEORY_SLOTS = {
    "problem": "key config",
    "sample": "key problem config",
    "init": "key problem config",
    "loss": "params batch problem config",
    "gradient": "params batch problem config",
    "metrics": "params problem config",
    "baselines": "problem config",
    "analyses": "params problem config",
    "coords": "config",
    "predict": "problem config steps",
    "assumptions": "problem config",
}
_THEORY_TYPES = {"name": str, "algorithms": dict, "dims": dict, "checks": tuple, "examples": tuple}
_ALGORITHM_SLOTS = {
    "init": "key problem config",
    "step": "key t state batch problem config",
    "params": "state problem config",
    "sample": "key problem config",
}
_CHECK_KINDS = ("equal", "bound", "sample")


def _signature_fault(where: str, function: Any, expected: str) -> str | None:
    """What is wrong with a function's arguments, or None. An underscore may precede a name that is
    not used.
    """
    if not callable(function):
        return (
            f"{where} is {type(function).__name__}, expected a function "
            f"({expected.replace(' ', ', ')})"
        )
    want = expected.split()
    parameters = inspect.signature(function).parameters.values()
    got = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    for position, (g, w) in enumerate(zip(got, want, strict=False), start=1):
        if g.lstrip("_") != w:
            return f"{where}: argument {position} is {g!r}, expected {w!r} in ({', '.join(want)})"
    if len(got) != len(want):
        return (
            f"{where} takes {len(got)} arguments ({', '.join(got)}), expected {len(want)} "
            f"({', '.join(want)})"
        )
    return None


def _home(kind: Any) -> str:
    """A class with the module it comes from."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _odd_names(theory: Theory) -> list[str]:
    """What is wrong with the names that dictionaries and checks hold."""
    found = []
    for slot in ("algorithms", "dims"):
        names = getattr(theory, slot)
        odd = [name for name in (names if isinstance(names, dict) else ()) if type(name) is not str]
        found += [f"{theory.name}.{slot}: {name!r} is no name, expected a text" for name in odd]
    for name, dims in theory.dims.items() if isinstance(theory.dims, dict) else ():
        if not isinstance(dims, tuple) or not all(isinstance(dim, str) for dim in dims):
            found.append(
                f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names, such as "
                f"({dims!r},)"
                if isinstance(dims, str)
                else f"{theory.name}.dims[{name!r}] is {dims!r}, expected a tuple of names"
            )
    for check in theory.checks if isinstance(theory.checks, tuple) else ():
        if isinstance(check, Check) and not isinstance(check.name, str):
            found.append(f"{theory.name}.checks: name is {check.name!r}, expected a text")
        if isinstance(check, Check) and not isinstance(check.tolerance, int | float):
            found.append(
                f"{theory.name}.checks[{check.name!r}].tolerance is {check.tolerance!r}, expected "
                "a number"
            )
    return found


def conform(theory: Any) -> None:
    """Test a record against the contract. Raises InputError that names each wrong slot and
    argument, a line each.
    """
    if not isinstance(theory, Theory):
        raise InputError(f"THEORY is a {type(theory).__name__}, expected a jaxtheory.Theory")
    name = theory.name
    faults: list[str | None] = [
        f"{name}.{slot} is a {type(value).__name__}, expected a {kind.__name__}"
        for slot, kind in _THEORY_TYPES.items()
        if not isinstance(value := getattr(theory, slot), kind)
    ]
    faults += [
        f"{name}.checks: a {type(check).__name__}, expected a jaxtheory.Check"
        for check in (theory.checks if isinstance(theory.checks, tuple) else ())
        if not isinstance(check, Check)
    ]
    faults += _odd_names(theory)
    if any(faults):
        raise InputError("\n".join(filter(None, faults)))
    faults = [
        _signature_fault(f"{name}.{slot}", getattr(theory, slot), want)
        for slot, want in _THEORY_SLOTS.items()
    ]
    if not (isinstance(theory.Config, type) and issubclass(theory.Config, Config)):
        faults.append(f"{name}.Config: expected a subclass of jaxtheory.Config")
    else:
        table = fields(theory.Config)
        symbols = [field.symbol for field in table.values()]
        for symbol in sorted(
            {s for s in symbols if symbols.count(s) > 1 or (s in table and table[s].symbol != s)}
        ):
            faults.append(f"{name}.Config: symbol {symbol!r} is not unique")
        faults += [
            f"{name}.Config: field {word!r} is reserved for an axis"
            for word in ("algorithm", "steps", "seed")
            if word in table
        ]
    if theory.given is not None and not callable(theory.given):
        faults.append(
            f"{name}.given is {type(theory.given).__name__}, expected a function of arrays"
        )
    if not theory.algorithms:
        faults.append(f"{name}.algorithms is empty; the first entry is the default")
    for label, algorithm in theory.algorithms.items():
        if not isinstance(algorithm, Algorithm):
            faults.append(
                f"{name}.algorithms[{label!r}] is a {type(algorithm).__name__}, expected a "
                "jaxtheory.Algorithm"
            )
            continue
        for slot, want in _ALGORITHM_SLOTS.items():
            function = getattr(algorithm, slot)
            if not (slot == "sample" and function is None):
                faults.append(
                    _signature_fault(f"{name}.algorithms[{label!r}].{slot}", function, want)
                )
    for check in theory.checks:
        if check.kind not in _CHECK_KINDS:
            faults.append(
                f"{name}.checks[{check.name!r}].kind is {check.kind!r}, expected one of "
                f"{', '.join(_CHECK_KINDS)}"
            )
        if check.kind == "equal" and check.tolerance > 1e-11:
            faults.append(
                f"{name}.checks[{check.name!r}].tolerance is {check.tolerance:g}; exact checks "
                "hold to 1e-11"
            )
        faults.append(_signature_fault(f"{name}.checks[{check.name!r}].fn", check.fn, "key config"))
    if other := [e for e in theory.examples if type(e) is not theory.Config]:
        faults.append(
            f"{name}.examples: {len(other)} of {len(theory.examples)} are a "
            f"{_home(type(other[0]))}, expected {_home(theory.Config)}; give "
            f"examples=({theory.Config.__name__}(),) too"
        )
    found = [fault for fault in faults if fault]
    if found:
        raise InputError("\n".join(found))


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
