"""The contract of a theory as pytest parameters, for your own test suite.

    from jaxtheory.testing import parametrize_with_checks

    @parametrize_with_checks(THEORY)
    def test_theory(check):
        check()

Each check is a pytest parameter with a name. The checks are:

* The record conforms to the contract, and its own checks hold.
* Its functions compose with jit, vmap, grad and jvp, in float64 and float32.
* Draws are bit-identical under padding, and no result depends on padding.
* A vmapped run of a sweep equals the run alone.
* Programs lower for CPU, CUDA and TPU.
* Dimensions and names are valid.
* Each of `mutations`, which are wrong versions of your functions, is caught.

The module needs pytest.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from jaxtheory.core.check_theory import check_theory
from jaxtheory.core.contract import ships
from jaxtheory.core.theory import Theory
from jaxtheory.texts.errors import InputError
from jaxtheory.verification import conformance
from jaxtheory.verification.gradients import compare_gradients


class Case(NamedTuple):
    """A named test without arguments, which raises AssertionError or InputError if it fails.

    Args:
        name: The name of the test, which is its id in pytest.
        run: The function that is called.

    Example:
        >>> from jaxtheory.testing import Case
        >>> Case("passes", lambda: None)()
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()


def assert_gradient(
    loss: Callable, gradient: Callable, params: Any, *args: Any, **options: Any
) -> None:
    """Assert that a function is the gradient of a loss, by `jaxtheory.compare_gradients`.

    Args:
        loss: A function of (params, *args) that returns a real scalar.
        gradient: A function of (params, *args) that returns the gradient under test.
        params: A pytree of floating-point arrays.
        *args: Further arguments of both functions.
        **options: The options `key`, `tolerance` and `rows` of `compare_gradients`.

    Raises:
        AssertionError: The two gradients differ. The message has the verdict and the table.
        InputError: The functions or the arguments are malformed.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxtheory.testing import assert_gradient
        >>> assert_gradient(lambda w: jnp.sum(w**2) / 2, lambda w: w, jnp.ones(3))
    """
    comparison = compare_gradients(loss, gradient, params, *args, **options)
    if not comparison.agrees:
        raise AssertionError(str(comparison))


def parametrize_with_checks(theory: Theory, **options: Any) -> Any:
    """Parametrize a pytest function with the checks of a theory, as its argument `check`.

    Args:
        theory: A `jaxtheory.Theory`.
        **options: The options of `cases`.

    Returns:
        A pytest decorator.

    Raises:
        InputError: theory is not a valid Theory, or a mutation is malformed.

    Example:
        >>> from jaxtheory.testing import parametrize_with_checks
        >>> from jaxtheory.theories import random_walk
        >>> @parametrize_with_checks(random_walk.THEORY)
        ... def test_theory(check):
        ...     check()
    """
    import pytest

    check_theory(theory)
    checks = list(cases(theory, **options))
    return pytest.mark.parametrize("check", checks, ids=[case.name for case in checks])


def cases(
    theory: Theory,
    *,
    mutations: Mapping[str, tuple[ModuleType, str, Callable]] | None = None,
    float32: float = 2e-5,
    derived: Collection[str] | None = None,
) -> Iterator[Case]:
    """Yield the checks of a theory, the most basic ones first.

    Args:
        theory: A `jaxtheory.Theory` with examples.
        mutations: Wrong versions of functions, each of which some check must notice: a mapping from
            a description to (module, name of its function, wrong function).
        float32: The largest accepted difference between the gradient in float32 and autodiff's,
            over the largest entry.
        derived: The arrays of Problem and Batch that are computed from draws, so that padding may
            change their last bits. All others must be bit-identical. None: any may be computed.

    Yields:
        Cases, which are called without arguments.

    Raises:
        InputError: A mutation is malformed.

    Example:
        >>> from jaxtheory.testing import cases
        >>> from jaxtheory.theories import random_walk
        >>> next(cases(random_walk.THEORY)).name
        'conforms'
    """
    _require_mutations(mutations or {})
    yield Case("conforms", partial(conformance.conforms, theory))
    yield Case("names are not xarray's", partial(conformance.names_are_free, theory))
    for check in theory.checks:
        yield Case(f"check {check.name}", partial(conformance.check_holds, theory, check.name))
    tools = conformance.Material(theory)
    for i, _ in enumerate(theory.examples):
        tests = {
            "gradient is autodiff's": partial(conformance.gradient_is_autodiff, tools),
            "loss composes": partial(conformance.loss_composes, tools),
            "dimensions match": partial(conformance.dimensions_match, tools),
            "assumptions have margins": partial(conformance.assumptions_have_margins, theory),
            "gradient in float32": partial(conformance.gradient_in_float32, tools, float32),
            "draws under padding": partial(conformance.draws_are_the_same, theory, derived),
        }
        if i == 0 or not ships(theory):  # other tests pad the other examples of those that ship
            tests["padding"] = partial(conformance.padding_changes_nothing, theory)
        for words, test in tests.items():
            yield Case(f"{words}, example {i}", partial(test, i))
        for name in conformance.trained(theory)[: None if i == 0 else 1]:
            for words, test in {
                "lowers for every backend": partial(conformance.lowers_everywhere, theory, name),
                "a vmapped run is the run alone": partial(
                    conformance.vmapped_run_is_alone, theory, name
                ),
            }.items():
                yield Case(f"{words}, {name}, example {i}", partial(test, i))
    for what, mutation in (mutations or {}).items():
        yield Case(f"notices {what}", partial(conformance.notices, theory, *mutation))


def _require_mutations(mutations: Mapping[str, Any]) -> None:
    """Raise InputError unless every mutation is (module, name of its function, function)."""
    if not isinstance(mutations, Mapping):
        raise InputError(f"mutations is a {type(mutations).__name__}, expected a dict")
    for what, parts in mutations.items():
        if not (isinstance(parts, tuple) and len(parts) == 3 and callable(parts[2])):
            raise InputError(f"mutations[{what!r}]: expected (module, name, wrong function)")
        module, name, _ = parts
        if not isinstance(name, str) or not callable(getattr(module, name, None)):
            raise InputError(f"mutations[{what!r}]: {module!r} has no function {name!r}")
