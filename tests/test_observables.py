"""Observables against full Hessians, NumPy and the runs they observe."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import MODULE, THEORY
from jax.flatten_util import ravel_pytree

import jaxtheory
from jaxtheory import draws, observables
from jaxtheory.theories import group_sparse, low_rank, random_walk

SMALL = {
    "random_walk": {"length": 13, "num_states": 4},
    "attention_pruning": {"length": 8, "dimension": 6},
    "contextual_bigram": {"length": 20},
    "nearest_neighbor": {},
    "group_sparse": {},
    "low_rank": {},
}


def small(name):
    theory = jaxtheory.theories.get(name)
    known = jaxtheory.core.config.fields(theory.Config)
    return theory, theory.Config(**{n: v for n, v in SMALL[name].items() if n in known})


@pytest.mark.parametrize("name", SMALL)
def test_attention_is_a_probability_over_keys(name):
    theory, config = small(name)
    data = jaxtheory.sweep(
        theory,
        config,
        seeds=2,
        steps=3,
        record=3,
        dtype="float64",
        observe={"attention": observables.attention},
        dims={"attention": ("query", "key")},
    )
    assert data.attention.dims == ("seed", "step", "query", "key")
    np.testing.assert_allclose(data.attention.sum("key"), 1, atol=1e-12)
    assert (data.attention >= 0).all()


def test_attention_of_walks_is_the_metric():
    theory, config = small("random_walk")
    data = jaxtheory.sweep(
        theory, config, steps=20, record=20, observe={"matrix": observables.attention}
    )
    # the parent is the token before the query
    np.testing.assert_allclose(data.matrix[..., 0, -2], data.parent_attention, rtol=1e-4)


@pytest.mark.parametrize(
    ("theory", "algorithm"), [(group_sparse, "gd"), (low_rank, "sgd"), (random_walk, "reduced")]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_sharpness_and_gradient_against_the_full_hessian(theory, algorithm, seed):
    config = theory.Config(**({"length": 13} if theory is random_walk else {}))
    if theory is low_rank:
        config = config.replace(M=5, d=5, m_a=5, m_b=5, num_neurons=8)
    data = jaxtheory.sweep(
        theory,
        config,
        seeds=[seed],
        steps=5,
        record=[5],
        algorithm=algorithm,
        dtype="float64",
        save_params=True,
        observe={
            "sharpness": observables.sharpness(theory),
            "slope": observables.gradient_norm(theory),
            "moved": observables.distance_from_start(theory, algorithm),
        },
    )
    with jax.enable_x64(True):
        key = jaxtheory.run_key(0, seed)
        problem, params = jaxtheory.load_problem(data), jaxtheory.load_params(data)
        batch = theory.sample(jax.random.fold_in(key, 3), problem, config)
        flat, back = ravel_pytree(params)
        loss = lambda x: theory.loss(back(x), batch, problem, config)
        largest = np.linalg.eigvalsh(np.asarray(jax.hessian(loss)(flat)))[-1]
        slope = np.linalg.norm(jax.grad(loss)(flat))
        start = theory.THEORY.algorithms[algorithm].init(
            jax.random.fold_in(key, 1), problem, config
        )
        shown = theory.THEORY.algorithms[algorithm].params(start, problem, config)
        moved = np.linalg.norm(flat - ravel_pytree(shown)[0])
    assert (1 - 1e-6) * largest < data.sharpness.item() < 1.000001 * largest
    np.testing.assert_allclose(data.slope.item(), slope, rtol=1e-9)
    np.testing.assert_allclose(data.moved.item(), moved, rtol=1e-6)


def test_a_start_that_is_drawn_is_that_of_the_run():
    """The distance is 0 before training, in each seed, and afterwards that of the weights."""
    init = lambda key, problem, config: MODULE.Params(draws.normal(key, config.dimension))
    algorithms = {"sgd": jaxtheory.Algorithm(init, THEORY.algorithms["sgd"].step)}
    theory = THEORY._replace(init=init, algorithms=algorithms)
    data = jaxtheory.sweep(
        theory,
        theory.Config(dimension=3),
        seeds=3,
        steps=4,
        record=4,
        save_params=[0, 4],
        dtype="float64",
        observe={"moved": observables.distance_from_start(theory)},
    )
    start, end = (data.params_weights.isel(step=i).values for i in (0, 1))
    assert np.ptp(start, axis=0).min() > 0 and (data.moved.isel(step=0) == 0).all()
    moved = np.linalg.norm(end - start, axis=-1)
    np.testing.assert_allclose(data.moved.isel(step=1), moved, rtol=1e-12)


STARTS = {name: [{}] for name in jaxtheory.theories.names()} | {  # whose Hessian is quick
    "random_walk": [{"length": 13}],
    "attention_pruning": [{"length": 8, "dimension": 6}],
    "contextual_bigram": [{"length": 20}],
    "low_rank": [
        {"num_patterns": 5, "dimension": 5, "value_dim": 5, "query_dim": 5, "num_neurons": 8}
    ],
    "in_context_regression": [{"form": form} for form in ("separate", "merged", "literal")],
    "positional_semantic": [{"dimension": 6, "num_samples": 9}],
    "factual_recall": [{"num_subjects": 4, "num_noise": 3, "num_answers": 3}],
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "changes"),
    [(name, changes) for name, variants in STARTS.items() for changes in variants],
)
def test_sharpness_with_its_defaults_at_the_start_of_every_theory(name, changes, dtype):
    theory = jaxtheory.theories.get(name)
    config = theory.Config(**changes)
    with jax.enable_x64(dtype == "float64"):
        compared = 0
        for seed in (0, 1):
            key, visited = jaxtheory.run_key(0, seed), set()
            problem = theory.problem(jax.random.fold_in(key, 0), config)
            for algorithm in theory.algorithms.values():
                state = algorithm.init(jax.random.fold_in(key, 1), problem, config)
                params = algorithm.params(state, problem, config)
                flat, _ = ravel_pytree(params)
                if flat.size > 3000 or (start := (flat.size, float(jnp.sum(flat)))) in visited:
                    continue
                visited.add(start)
                got = jax.jit(observables.sharpness(theory))(params, problem, config, key)
                spectrum = np.linalg.eigvalsh(hessian(theory, params, problem, config, key))
                near = (2e-3 if dtype == "float32" else 1e-6) * abs(spectrum).max()
                assert abs(got - spectrum[-1]) <= near
                compared += 1
        assert compared >= 2


def hessian(theory, params, problem, config, key):
    """The full Hessian of the loss on the batch of an observable."""
    batch = theory.sample(jax.random.fold_in(key, 3), problem, config)
    flat, back = ravel_pytree(params)
    loss = lambda x: theory.loss(back(x), batch, problem, config)
    return np.asarray(jax.jit(jax.hessian(loss))(flat), float)


class Quadratic:
    """x^T H x / 2 with given eigenvalues, in their own coordinates or in turned ones."""

    def __init__(self, eigenvalues, turned):
        Q = np.eye(len(eigenvalues))
        if turned:
            Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=Q.shape))
        self.matrix = Q @ np.diag(eigenvalues) @ Q.T

    def __call__(self, params, batch, problem, config):
        return params @ (self.matrix @ params) / 2


def sharpness_of(eigenvalues, turned=True, iterations=30, tolerance=1e-3):
    loss = Quadratic(np.array(eigenvalues, float), turned)
    sharpest = observables._Sharpness(loss, iterations, tolerance)
    return float(sharpest(jnp.ones(len(eigenvalues)), None, None, None))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "eigenvalues",
    [
        [3, 2, 1],
        [-9, 2, 1],
        [-9, -2, -1],
        [0, 0, 0],
        [-1, 0, 0],
        [-1, -1, -1],
        [1, -1, 0],
        [1, -0.999],
        [0.999, -1],
        [5, 5, -4.99],
        [1e-8, 1e-9, 0],
        [1e-25, -1e-25, 1e-30],
        [7],
        [1, -1] * 40,
        [0] * 99 + [1e-3],
        [*np.linspace(-1, 0.5, 60), 1.0],
        [s * x for x in np.geomspace(1e-3, 1, 40) for s in (1, -1)],
    ],
    ids=str,
)
def test_sharpness_of_any_signs(eigenvalues, turned):
    got = sharpness_of(eigenvalues, turned)
    np.testing.assert_allclose(got, max(eigenvalues), atol=1e-3 * max(map(abs, eigenvalues)))


def test_sharpness_that_has_not_converged_is_nan():
    crowded = [*np.linspace(-1, 0.999, 500), 1.0]
    assert np.isnan(sharpness_of(crowded, iterations=5))
    assert np.isnan(sharpness_of(crowded, tolerance=1e-12))
    assert sharpness_of(crowded, iterations=400) == pytest.approx(1, abs=1e-3)
    assert np.isnan(sharpness_of([np.nan, 1.0])) and np.isnan(sharpness_of([np.inf, 1.0]))


def test_norms_spectra_and_angles():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(2, 4, 4, 6))
    params = {"A": jnp.asarray(A), "B": jnp.asarray(B), "zero": jnp.zeros((4, 4, 6))}
    evaluate = lambda function: np.asarray(function(params, None, None))
    np.testing.assert_allclose(evaluate(observables.norm), np.sqrt((A**2).sum() + (B**2).sum()))
    np.testing.assert_allclose(
        evaluate(observables.norms), [np.linalg.norm(A), np.linalg.norm(B), 0], rtol=1e-12
    )
    spectrum = evaluate(observables.singular_values("A"))
    np.testing.assert_allclose(spectrum, np.linalg.svd(A, compute_uv=False), rtol=1e-10)
    cosine = (A * B).sum() / np.linalg.norm(A) / np.linalg.norm(B)
    np.testing.assert_allclose(evaluate(observables.alignment("A", "B")), cosine, rtol=1e-10)
    assert evaluate(observables.alignment("A", "zero")) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: observables.singular_values("W"), "the parameters have no array 'W'"),
        (lambda: observables.singular_values("v1"), "but a matrix is needed"),
        (lambda: observables.alignment("v1", "v2"), "the shapes (4,) and (6,) differ"),
        (
            lambda: observables.sharpness(group_sparse, iterations=0),
            "iterations = 0: must be an integer",
        ),
        (
            lambda: observables.sharpness(group_sparse, tolerance=2),
            "tolerance = 2: must be in (0, 1)",
        ),
        (lambda: observables.distance_from_start(group_sparse, "x"), "unknown algorithm 'x'"),
    ],
)
def test_wrong_uses_are_one_sentence(make, message):
    with pytest.raises(jaxtheory.InputError) as error:
        jaxtheory.sweep(group_sparse, group_sparse.Config(), steps=1, observe={"a": make()})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_theory_without_an_attention_map():
    from tests.helpers.quadratic import THEORY, Config

    with pytest.raises(jaxtheory.InputError, match="the theory defines no attention map"):
        jaxtheory.sweep(THEORY, Config(), steps=1, observe={"a": observables.attention})
