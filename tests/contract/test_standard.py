"""The algorithms that every room lists: sgd is the room's own descent where that is plain, momentum
the literal one, the cosine ends where it should, and Adam's first step has length eta.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory.core import from_optax
from jaxtheory.theories import get, names

STANDARD = ("sgd", "momentum", "adam", "sign", "sgd_cosine")
OWN = {  # name: (standard algorithm, the room's own that is the same run, config changes)
    "random_walk": ("sgd", "reduced", {}),
    "nearest_neighbor": ("sgd", "reduced", {}),
    "group_sparse": ("sgd", "gd", {}),
    "in_context_regression": ("sgd", "gd", {}),
    "task_diversity": ("sgd", "path", {}),
    "factual_recall": ("sgd", "gd", {}),
    "positional_semantic": ("sgd", "gd", {}),
    "causal_graph": ("sgd", "joint", {"learning_rate": 0.3, "second_rate": 0.3}),
    "contextual_bigram": ("sgd", "proximal", {"l1": 0.0, "switch_step": 3}),
    "attention_pruning": ("momentum", "gradient_descent", {}),
}


@functools.cache
def trained(name, algorithm, steps=7, **change):
    theory = get(name)
    return jaxtheory.simulate(
        theory,
        theory.examples[0].replace(**change),
        jaxtheory.run_key(5, 2),
        steps=steps,
        algorithm=algorithm,
        dtype="float64",
        record=[0, steps],
    )


def same(got, want, tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", names())
def test_listed_with_their_fields_and_not_first(name):
    theory = get(name)
    assert set(STANDARD) <= set(theory.algorithms)
    assert name == "low_rank" or next(iter(theory.algorithms)) not in STANDARD
    assert theory.Config().momentum == 0.9 and theory.Config().decay_steps >= 100
    assert theory.Config().adam_epsilon == 1e-8 and theory.Config().warmup_steps == 0


@pytest.mark.parametrize("name", OWN)
def test_the_rooms_own_descent(name):
    standard, own, change = OWN[name]
    same(trained(name, standard, **change).params, trained(name, own, **change).params, 1e-10)


@pytest.mark.parametrize("clip", [False, True])
def test_momentum_on_masks_clips_as_algorithm_1_does(clip):
    change = {"clip": clip, "step_scale": 0.5}
    want = trained("attention_pruning", "gradient_descent", **change)
    same(trained("attention_pruning", "momentum", **change).params, want.params, 1e-10)


def test_low_rank_by_hand():
    theory, run = get("low_rank"), trained("low_rank", "sgd", steps=3)
    config, steps = theory.examples[0], jax.random.fold_in(jaxtheory.run_key(5, 2), 2)
    with jax.enable_x64(True):
        problem = jax.tree.map(jnp.asarray, run.problem)
        W = theory.init(steps, problem, config)
        for t in range(3):
            key = jax.random.fold_in(jax.random.fold_in(steps, t), 0)
            batch = theory.sample(key, problem, config)
            g = theory.gradient(W, batch, problem, config)
            W = jax.tree.map(lambda w, g: w - config.learning_rate * g, W, g)
        same(run.params, W, 1e-12)


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_without_momentum_or_decay_it_is_sgd(name):
    want = trained(name, "sgd").params
    same(trained(name, "momentum", momentum=0.0).params, want, 1e-12)
    same(trained(name, "sgd_cosine", decay_steps=10**8).params, want, 1e-9)


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_the_cosine_stops_at_the_last_of_its_steps(name):
    at, on = (trained(name, "sgd_cosine", steps=n, decay_steps=3).params for n in (3, 6))
    same(on, at, 1e-12)  # a projection may still round
    before = trained(name, "sgd_cosine", steps=2, decay_steps=3).params
    assert any(np.any(a != b) for a, b in zip(*map(jax.tree.leaves, (at, before)), strict=True))


@pytest.mark.parametrize("algorithm", ["momentum", "sgd_cosine"])
def test_a_reduced_walk_is_the_literal_run(algorithm):
    """In the scores as in W; the limits of nearest_neighbor need infinitely many prompts."""
    theory = get("random_walk")
    literal = from_optax.standard(theory.algorithms["literal"].init, theory.gradient)
    runs = [
        jaxtheory.simulate(
            theory._replace(algorithms=algorithms),
            theory.examples[0],
            jaxtheory.run_key(5, 2),
            steps=6,
            algorithm=algorithm,
            dtype="float64",
        )
        for algorithms in (theory.algorithms, literal)
    ]
    np.testing.assert_allclose(*(run.metrics["loss"] for run in runs), rtol=1e-9)


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_adams_first_step_has_length_eta(name):
    """In the largest entry; A of contextual_bigram is projected, which takes a mean off."""
    after, before = (trained(name, "adam", steps=n).params for n in (1, 0))
    moved = jax.tree.map(lambda a, b: np.max(np.abs(a - b)), after, before)
    assert max(jax.tree.leaves(moved)) == pytest.approx(rate(name), rel=1e-5)


def rate(name):
    c = get(name).examples[0]
    return c.step_scale / c.regularization if name == "attention_pruning" else c.learning_rate


@pytest.mark.parametrize("name", [n for n in names() if n != "contextual_bigram"])
def test_sign_descent_moves_each_entry_by_eta_or_not_at_all(name):
    after, before = (trained(name, "sign", steps=n).params for n in (1, 0))
    for a, b in zip(*map(jax.tree.leaves, (after, before)), strict=True):
        steps = np.abs(a - b) / rate(name)
        assert np.all((steps < 1e-9) | (np.abs(steps - 1) < 1e-9))


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_adams_first_step_without_its_offset_is_that_of_sign_descent(name):
    after, sign = (
        trained(name, algorithm, steps=1, **change).params
        for algorithm, change in (("adam", {"adam_epsilon": 1e-30}), ("sign", {}))
    )
    same(after, sign, 1e-9)


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_a_large_offset_makes_adam_descent_with_averaged_gradients(name):
    """In the first step m^ = g, and m^ / (|g| + eps) = g / eps up to |g| / eps."""
    change = {"init_scale": 0.1} if name == "random_walk" else {}
    rates = {"step_scale"} if name == "attention_pruning" else {"learning_rate"}
    rates |= {"late_learning_rate"} if name == "contextual_bigram" else set()
    large = {field: 1e12 * getattr(get(name).examples[0], field) for field in rates}
    adam = trained(name, "adam", steps=1, adam_epsilon=1e12, **large, **change)
    same(adam.params, trained(name, "sgd", steps=1, **change).params, 1e-8)


@pytest.mark.parametrize("name", some(names(), "random_walk", "low_rank"))
def test_the_warm_up_begins_at_a_share_of_the_rate(name):
    """Its first of k steps has the rate eta / k; one step of warm-up is none."""
    start, full, quarter = (
        trained(name, "adam", steps=steps, warmup_steps=k).params
        for steps, k in ((0, 0), (1, 0), (1, 4))
    )
    for x, a, b in zip(*map(jax.tree.leaves, (start, full, quarter)), strict=True):
        np.testing.assert_allclose(4 * (b - x), a - x, rtol=1e-9, atol=1e-11)
    same(trained(name, "adam", warmup_steps=1).params, trained(name, "adam").params, 0)
