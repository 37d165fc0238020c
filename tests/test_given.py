"""A researcher's own arrays: the same numbers as the room's own data, sizes read from shapes, one
line where something does not fit.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory.core.config import Size
from jaxtheory.theories import get, names

KEY = jaxtheory.run_key(3, 0)

SMALL = {
    "random_walk": {"num_sequences": 9, "length": 7, "encoding_dim": 11},
    "attention_pruning": {"dimension": 5, "length": 6, "num_sequences": 3, "rank": 2},
    "contextual_bigram": {"length": 9, "batch_size": 8},
    "nearest_neighbor": {"num_prompts": 9, "num_test": 7, "labels": "gaussian"},
    "group_sparse": {"num_samples": 9, "group_dim": 3, "num_groups": 4},
    "low_rank": {"num_samples": 12, "num_test": 10, "num_neurons": 7, "batch_size": 5},
}


def arrays_of(name, problem, batch, params):
    """What a researcher would hold of a room's own problem, by name; and settings."""
    p, train = problem, getattr(problem, "train", None)
    if name == "random_walk":
        of = lambda s, y, kind="": {f"{kind}sequences": s[:, :-1], f"{kind}labels": y}
        return of(train.s, train.y) | of(p.test.s, p.test.y, "test_"), {"M": 11, "K": 6}
    if name == "attention_pruning":
        whole = {"inputs": p.inputs, "query": p.query, "key": p.key, "heldout": p.heldout}
        return whole | {"attends": p.attention_mask}, {"rank": 2}
    if name == "contextual_bigram":
        tokens = batch.tokens.astype(int)
        samples = {"tokens": tokens, "query": batch.query, "labels": batch.label}
        return samples | {"transition": p.transition, "context": p.context}, {}
    if name == "nearest_neighbor":
        of = lambda b, kind="": dict(
            zip(
                (kind + "examples", kind + "queries", kind + "labels"), (b.x, b.q, b.y), strict=True
            )
        )
        return of(train) | of(p.test, "test_"), {}
    if name == "group_sparse":
        of = lambda b, kind="": {f"{kind}features": jnp.moveaxis(b.x, 2, 0), f"{kind}labels": b.y}
        return of(train) | of(p.test, "test_") | {"truth": p.truth}, {}
    start = dict(zip(params._fields, params, strict=True))
    of = lambda b, kind="": {
        f"{kind}tokens": b.tokens,
        f"{kind}labels": b.label,
        f"{kind}pattern": b.pattern,
    }
    rest = {"patterns": p.patterns, "signs": p.signs}
    settings = {"nrel": 9, "nconf": 3, "per": 1, "batch_size": 5}
    return of(train) | of(p.test, "test_") | start | rest, settings


def own(name, **changes):
    """A room's problem, batch and parameters, and what `given` makes of its arrays."""
    theory = get(name)
    config = theory.Config(**SMALL[name])
    problem = jax.jit(theory.problem)(KEY, config)
    batch = getattr(problem, "train", None) or jax.jit(theory.sample)(KEY, problem, config)
    params = start = jax.jit(theory.init)(KEY, problem, config)
    params = jax.tree.map(lambda x: x + 0.1 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), params)
    arrays, settings = arrays_of(name, problem, batch, start)
    if name == "low_rank" and "patterns" in changes:
        settings = {}
    drop = [key for key, value in changes.items() if value is None]
    arrays = {key: value for key, value in (arrays | changes).items() if key not in drop}
    return theory, (params, batch, problem, config), theory.given(**arrays, **settings)


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_the_same_numbers(name):
    theory, (params, batch, problem, config), (own_problem, own_batch, own_config) = own(name)
    for function in map(jax.jit, (theory.loss, theory.gradient)):
        want = function(params, batch, problem, config)
        got = function(params, own_batch, own_problem, own_config)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    want, got = (
        jax.jit(theory.metrics)(params, *rest)
        for rest in ((problem, config), (own_problem, own_config))
    )
    for metric in want:
        np.testing.assert_allclose(
            got[metric], want[metric], rtol=1e-11, atol=1e-13, err_msg=metric
        )


LEAST = {
    "random_walk": ("test_sequences", "test_labels"),
    "attention_pruning": ("heldout", "attends"),
    "contextual_bigram": ("transition", "context"),
    "nearest_neighbor": ("test_examples", "test_queries", "test_labels"),
    "group_sparse": ("test_features", "test_labels", "truth"),
    "low_rank": ("test_tokens", "test_labels", "test_pattern", "patterns", "pattern"),
}


@pytest.mark.parametrize("name", some(names(), "random_walk"))
def test_a_loss_needs_no_more(name):
    theory, (params, batch, problem, config), found = own(name, **dict.fromkeys(LEAST[name]))
    own_problem, own_batch, own_config = found
    loss = jax.jit(theory.loss)
    got = loss(params, own_batch, own_problem, own_config)
    np.testing.assert_allclose(got, loss(params, batch, problem, config), rtol=1e-12)
    seen = jax.jit(theory.metrics)(params, own_problem, own_config)
    assert any(np.any(np.isnan(value)) for value in seen.values())


@pytest.mark.parametrize("name", some(names(), "nearest_neighbor"))
def test_a_given_problem_is_the_run_on_it(name):
    """A run on the problem that it would have drawn is that run; every seed is on it."""
    theory = get(name)
    config = theory.Config(**SMALL[name])
    problem = jax.jit(theory.problem)(jax.random.fold_in(KEY, 0), config)
    options = {"steps": 3, "dtype": "float64"}
    want = jaxtheory.simulate(theory, config, KEY, **options)
    run = jaxtheory.simulate(theory, config, KEY, problem=problem, **options)
    for metric, value in want.metrics.items():
        np.testing.assert_allclose(run.metrics[metric], value, rtol=1e-10, atol=1e-13)
    rate = "step_scale" if name == "attention_pruning" else "learning_rate"
    values = [0.5 * getattr(config, rate), getattr(config, rate)]
    data = jaxtheory.sweep(
        theory, config, vary={rate: values}, seeds=2, key=3, problem=problem, **options
    )
    metric = next(iter(want.metrics))
    lane = data[metric].isel({rate: 1}).sel(seed=0).values
    np.testing.assert_allclose(lane, want.metrics[metric], rtol=1e-10, atol=1e-13)


FIXED = [
    ("random_walk", {"p": [0.2, 0.4]}, "clockwise_probability (p)"),
    ("random_walk", {"task": ["walk", "qa1"]}, "task (task)"),
    ("attention_pruning", {"d": [4, 5]}, "dimension (d)"),
    ("contextual_bigram", {"rho": [0.5, 1.0]}, "correlation (rho)"),
    ("low_rank", {"noise": [0.1, 0.2]}, "noise (sigma)"),
]


@pytest.mark.parametrize(("name", "vary", "words"), FIXED)
def test_what_the_data_depend_on_stays(name, vary, words):
    theory = get(name)
    config = theory.Config(**SMALL[name])
    if "task" in vary:
        config = config.replace(num_states=Size(19), length=Size(17), encoding_dim=Size(20))
        vary = {"task": ["walk", "qa1"]}
    problem = theory.problem(KEY, config)
    with pytest.raises(jaxtheory.InputError, match="the data depend on it") as error:
        jaxtheory.sweep(theory, config, vary=vary, problem=problem, steps=1)
    assert str(error.value).startswith(words)


def test_sizes_that_the_data_do_not_shape_vary():
    theory, _, (problem, _, config) = own("low_rank")
    data = jaxtheory.sweep(theory, config, vary={"B": [2, 5]}, problem=problem, steps=2)
    assert dict(data.sizes)["batch_size"] == 2


@pytest.mark.parametrize("function", ["loss", "gradient"])
@pytest.mark.parametrize("name", names())
def test_a_wrong_shape_is_a_line_inside_jit(name, function):
    theory, _, (problem, batch, config) = own(name)
    params = theory.init(KEY, problem, config)
    word = {
        "random_walk": "length",
        "attention_pruning": "num_sequences",
        "contextual_bigram": "batch_size",
        "nearest_neighbor": "dimension",
        "group_sparse": "num_groups",
        "low_rank": "num_neurons",
    }[name]
    size = getattr(config, word)
    wrong = config.replace(**{word: Size(size.cap - 1)})
    with pytest.raises(jaxtheory.InputError) as error:
        jax.jit(getattr(theory, function))(params, batch, problem, wrong)
    assert f"set {word}={size.cap}" in str(error.value) and "\n" not in str(error.value)


RANDOM = np.random.default_rng(0)
WALKS = RANDOM.integers(0, 5, (6, 8))
UNIT = lambda *shape: (z := RANDOM.normal(size=shape)) / np.linalg.norm(z, axis=-1, keepdims=True)
BAD = [
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:5, 0]}, "labels has shape (5,)"),
    ("random_walk", {"sequences": WALKS[0], "labels": WALKS[0]}, "sequences has shape (8,)"),
    ("random_walk", {"sequences": WALKS * 1.0, "labels": WALKS[:, 0]}, "expected integers"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "N": 5}, "length (N) = 5"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "K": 4}, "num_states (K) = 4"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "eta": -1}, "learning_rate"),
    ("random_walk", {"sequences": WALKS, "labels": WALKS[:, 0], "etta": 1}, "unknown field"),
    ("random_walk", {"sequences": WALKS, "labels": list("abcdef")}, "labels holds"),
    ("attention_pruning", {"inputs": np.ones((3, 4), int)}, "inputs holds int64, expected floats"),
    ("attention_pruning", {"inputs": np.full((3, 4), np.nan)}, "all entries must be finite"),
    ("attention_pruning", {"query": np.ones((5, 2))}, "query has shape (5, 2), expected (d, k)"),
    ("attention_pruning", {"key": np.ones((4, 6)), "query": np.ones((4, 6))}, "at most d = 4"),
    ("attention_pruning", {"attends": np.ones((3, 3))}, "expected booleans"),
    ("contextual_bigram", {"transition": np.eye(3)}, "give all of them"),
    ("contextual_bigram", {}, "give transition and context"),
    (
        "contextual_bigram",
        {"transition": np.full((2, 2), 0.5), "context": np.eye(2) * [1, 0]},
        "sum 1",
    ),
    ("random_walk", {"sequences": WALKS[:0], "labels": WALKS[:0, 0]}, "at least one entry"),
    ("contextual_bigram", {"transition": np.eye(2), "context": np.eye(2)}, "reducible"),
    ("contextual_bigram", {"transition": np.ones((2, 2)), "context": np.eye(2)}, "transpose"),
    ("nearest_neighbor", {"examples": 2 * UNIT(5, 3, 2), "queries": UNIT(5, 2)}, "differ from 1"),
    ("nearest_neighbor", {"examples": UNIT(5, 3, 2), "queries": UNIT(5, 3)}, "(B, d) = (5, 2)"),
    ("group_sparse", {"features": UNIT(5, 3, 2), "labels": np.arange(5)}, "must be +1 or -1"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": np.arange(5) % 2, "nrel": 2}, "num_relevant"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": np.arange(5) % 2 - 1}, "labels are -1 to 0"),
    ("low_rank", {"tokens": UNIT(5, 3, 4), "labels": [0] * 5, "query": UNIT(2, 4)}, "all four"),
]
PRUNING = {"inputs": np.ones((3, 4)), "query": np.ones((4, 2)), "key": np.ones((4, 2))}


@pytest.mark.parametrize(("name", "arguments", "words"), BAD)
def test_bad_arrays_are_one_line(name, arguments, words):
    arguments = (PRUNING if name == "attention_pruning" else {}) | arguments
    with pytest.raises(jaxtheory.InputError) as error:
        get(name).given(**arguments)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_problem_of_another_theory_or_size_is_a_line():
    theory, _, (problem, _, config) = own("random_walk")
    _, _, (other, _, _) = own("group_sparse")
    with pytest.raises(jaxtheory.InputError, match=r"expected one of random_walk\.given"):
        jaxtheory.simulate(theory, config, KEY, steps=1, problem=other)
    longer = config.replace(length=Size(9))
    with pytest.raises(jaxtheory.InputError, match=r"problem.train.s has shape .* set length=7"):
        jaxtheory.simulate(theory, longer, KEY, steps=1, problem=problem)
