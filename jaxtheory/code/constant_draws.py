"""Random numbers of a program that do not depend on the key of the run.

Such numbers are the same for all seeds and, in a step, for all steps. They are found in the jaxpr:
each value is followed from the arguments to the results, with the draws from constant keys that it
depends on. A draw that no result depends on does not count.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Literal

from jaxtheory.texts.errors import user_line

DECLARED = "_declared_constant_key"  # the jitted function of `draws.fixed_key`
# operations that draw, with the number of arguments that are the key
_DRAWS = {"random_bits": 1, "random_gamma": 1, "rng_bit_generator": 1, "threefry2x32": 2}


class Origin(NamedTuple):
    """Where a value comes from.

    run: True if it depends on the key of the run. draws: the lines of the draws from constant keys
    that it depends on.
    """

    run: bool
    draws: frozenset[str] = frozenset()


CONSTANT, OF_RUN = Origin(False), Origin(True)


class Followed(NamedTuple):
    """The shapes of a pytree of arrays, and the origin of each of its leaves."""

    shapes: Any
    origins: tuple[Origin, ...]

    @property
    def draws(self) -> frozenset[str]:
        """The lines of all draws from constant keys."""
        return _join(self.origins).draws


def attach_origins(tree: Any, origin: Callable[[Any], Origin] | Origin) -> Followed:
    """Return a pytree of arrays as an argument, with one origin or that of each leaf."""
    find_origin = origin if callable(origin) else lambda _leaf: origin
    return Followed(tree, tuple(map(find_origin, jax.tree.leaves(tree))))


def follow(function: Callable, *args: Followed) -> Followed:
    """Return the result of a function of pytrees of arrays, which is not computed."""
    fresh = lambda *args: function(*args)  # JAX caches the trace of a function object
    program, shapes = jax.make_jaxpr(fresh, return_shape=True)(*(arg.shapes for arg in args))
    origins = [origin for arg in args for origin in arg.origins]
    return Followed(shapes, tuple(_origins(program, origins, ())))


def _origins(program: Any, inputs: Sequence[Origin], calls: tuple) -> list[Origin]:
    """Return the origins of the results of a jaxpr; `calls` are the operations it is inside of."""
    jaxpr = getattr(program, "jaxpr", program)
    known: dict[Any, Origin] = dict.fromkeys(jaxpr.constvars, CONSTANT)
    known.update(zip(jaxpr.invars, inputs, strict=True))
    read = lambda x: CONSTANT if isinstance(x, Literal) else known[x]
    for eqn in jaxpr.eqns:
        results = _results(eqn, [*map(read, eqn.invars)], (*calls, eqn))
        known.update(zip(eqn.outvars, results, strict=True))
    return [*map(read, jaxpr.outvars)]


def _results(eqn: Any, inputs: list[Origin], calls: tuple) -> Sequence[Origin]:
    """Return the origins of the results of one operation."""
    name, params, origin = eqn.primitive.name, eqn.params, _join(inputs)
    if name in _DRAWS:
        if not _join(inputs[: _DRAWS[name]]).run:
            origin = origin._replace(draws=origin.draws | {_line(calls)})
        return [origin] * len(eqn.outvars)
    if params.get("name") == DECLARED:
        return [OF_RUN] * len(eqn.outvars)
    if name == "scan":
        fixed, carried = params["num_consts"], params["num_carry"]
        body = lambda carry: _origins(
            params["jaxpr"], [*inputs[:fixed], *carry, *inputs[fixed + carried :]], calls
        )
        carry = _settled(lambda carry: body(carry)[:carried], inputs[fixed : fixed + carried])
        return [*carry, *body(carry)[carried:]]
    if name == "while":
        tested, fixed = params["cond_nconsts"], params["body_nconsts"]
        consts = inputs[tested : tested + fixed]
        body = lambda carry: _origins(params["body_jaxpr"], [*consts, *carry], calls)
        carry = _settled(body, inputs[tested + fixed :])
        test = _origins(params["cond_jaxpr"], [*inputs[:tested], *carry], calls)
        return [_join([entry, *test]) for entry in carry]
    if name == "cond":
        branches = [_origins(branch, inputs[1:], calls) for branch in params["branches"]]
        return [_join([inputs[0], *origins]) for origins in zip(*branches, strict=True)]
    inner = [*_called(params)]
    same = [len(x.invars) == len(inputs) and len(x.outvars) == len(eqn.outvars) for x in inner]
    if same == [True]:
        return _origins(inner[0], inputs, calls)
    within = [_join(_origins(x, [origin] * len(x.invars), calls)) for x in inner]
    return [_join([origin, *within])] * len(eqn.outvars)


def _settled(body: Callable, carry: Sequence[Origin]) -> list[Origin]:
    """Return the origins of what a loop carries after any number of rounds."""
    while True:
        after = [_join(pair) for pair in zip(carry, body(carry), strict=True)]
        if after == [*carry]:
            return after
        carry = after


def _join(origins: Sequence[Origin]) -> Origin:
    """Return the origin of a value that is computed from others."""
    return Origin(any(x.run for x in origins), frozenset().union(*(x.draws for x in origins)))


def _called(params: dict[str, Any]) -> Iterator[Any]:
    """Yield the jaxprs in the parameters of an operation."""
    for value in params.values():
        for candidate in value if isinstance(value, tuple | list) else (value,):
            jaxpr = candidate.jaxpr if isinstance(candidate, ClosedJaxpr) else candidate
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def _line(calls: tuple) -> str:
    """Return the last line of a user's code in the traceback of an operation.

    The outermost call counts, as inner traces are cached with the lines of older calls.
    """
    frames = (getattr(eqn.source_info.traceback, "frames", ()) for eqn in calls)
    lines = (user_line((x.file_name, x.line_num) for x in reversed(stack)) for stack in frames)
    return next(filter(None, lines), "")
