"""Pruning a model: exact zeros, N:M, sequential calibration, resuming, what is refused."""

import dataclasses
import warnings

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError, llama
from jaxtheory.llama import layers, model
from jaxtheory.llama.layers import MATRICES

from .models import make, tokens

FAST = llama.Gradient((0.01, 0.1), fit=llama.Fit(steps=4))
METHODS = ("gradient", "wanda", "sparsegpt", "magnitude")


def zeros(weights, matrix):
    return [int(np.sum(np.asarray(getattr(layer, matrix)) == 0)) for layer in weights.layers]


def run(weights, text, config, **methods):
    return llama.prune(weights, text, config, gradient=FAST, **methods)


@pytest.mark.parametrize("method", METHODS)
def test_exactly_the_asked_share_is_zero(method):
    weights, config = make()
    others = method if method != "gradient" else "magnitude"
    found, report = run(
        weights, tokens(config), config, attention=method, mlp=others, ratio=0.6, mlp_ratio=0.3
    )
    wanted = {"query": 0.6, "key": 0.6, "value": 0, "output": 0} | dict.fromkeys(
        ("gate", "up", "down"), 0.3
    )
    for matrix in MATRICES:
        m, n = getattr(weights.layers[0], matrix).shape
        rows = (method if matrix in ("query", "key") else others) == "wanda"
        share = wanted[matrix]
        count = n * int(share * m + 1e-9) if rows else int(share * m * n + 1e-9)
        assert zeros(found, matrix) == [count, count]
        np.testing.assert_array_equal(report.sparsity.sel(matrix=matrix), count / (m * n))
    for kept in ("input_norm", "mlp_norm", "value", "output"):
        for a, b in zip(found.layers, weights.layers, strict=True):
            np.testing.assert_array_equal(getattr(a, kept), getattr(b, kept))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_pruned_is_the_model_itself(method):
    weights, config = make()
    others = method if method != "gradient" else "wanda"
    found, report = run(
        weights, tokens(config), config, attention=method, mlp=others, value_output=others, ratio=0
    )
    chex.assert_trees_all_close(found, weights, rtol=1e-6)
    np.testing.assert_allclose(report.attention_error, 0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_patterns_keep_n_of_every_m_inputs(method):
    weights, config = make()
    others = method if method != "gradient" else "wanda"
    found, _ = run(
        weights,
        tokens(config),
        config,
        attention=method,
        mlp=others,
        value_output=others,
        pattern=(1, 4),
    )
    for layer in found.layers:
        for matrix in MATRICES:
            W = np.asarray(getattr(layer, matrix))
            kept = (W.reshape(-1, 4, W.shape[1]) != 0).sum(axis=1)
            assert (kept == 1).all(), matrix


def test_later_layers_see_what_earlier_ones_became():
    """The second layer alone, on the stream behind the first pruned one, gives the same."""
    weights, config = make()
    text = tokens(config)
    found, report = run(weights, text, config, attention="sparsegpt", mlp="wanda", ratio=0.5)
    stream = model.block(found.layers[0], model.embed(weights, text), config)
    plan = layers.LayerPlan("sparsegpt", "wanda")
    second, _ = layers.prune_layer(
        jax.random.key(0), weights.layers[1], stream, layers.Ratios(0.5, 0.5), plan, config
    )
    chex.assert_trees_all_close(second, found.layers[1], rtol=1e-7, atol=1e-6)
    error = layers.attention_error(weights.layers[1], second, stream, config)
    assert float(error) == pytest.approx(float(report.attention_error[1]), rel=1e-4)


def test_lambda_is_the_one_of_least_error():
    weights, config = make(layers=1)
    text = tokens(config)
    grid = (0.003, 0.03, 0.3)
    both = llama.prune(
        weights, text, config, ratio=0.5, gradient=FAST._replace(regularizations=grid)
    )
    alone = [
        llama.prune(
            weights, text, config, ratio=0.5, gradient=FAST._replace(regularizations=(lam,))
        )
        for lam in grid
    ]
    errors = [float(report.attention_error[0]) for _, report in alone]
    assert float(both[1].attention_error[0]) == pytest.approx(min(errors), rel=1e-5)
    assert float(both[1].regularization[0]) == pytest.approx(grid[int(np.argmin(errors))])


@pytest.mark.slow
def test_variants_of_the_gradient_method():
    weights, config = make(layers=1)
    text = tokens(config, 8)
    plain = llama.prune(weights, text, config, ratio=0.5, gradient=FAST)[0].layers[0].query
    variants = {
        "update": FAST._replace(update=True),
        "ranking": FAST._replace(ranking="magnitude_mask"),
        "ratio_aware": FAST._replace(fit=FAST.fit._replace(ratio_aware=True, steps=8)),
        "batch": FAST._replace(fit=FAST.fit._replace(batch=2)),
        "stops": FAST._replace(selection=0.25, fit=FAST.fit._replace(stops=(0.25, 1.0))),
        "no clip": FAST._replace(fit=FAST.fit._replace(clip=False, step_scale=0.05)),
    }
    for name, gradient in variants.items():
        found = llama.prune(weights, text, config, ratio=0.5, gradient=gradient)[0]
        assert zeros(found, "query") == [plain.size // 2], name
        assert np.abs(np.asarray(found.layers[0].query - plain)).max() > 0, name


@pytest.mark.parametrize("method", METHODS)
def test_temperatures_lower_the_error_and_keep_the_zeros(method):
    weights, config = make(layers=1)
    text = tokens(config)
    plain, before = run(weights, text, config, attention=method, ratio=0.75)
    found, after = run(weights, text, config, attention=method, ratio=0.75, temperature=True)
    assert zeros(found, "query") == zeros(plain, "query")
    assert float(after.attention_error[0]) <= float(before.attention_error[0]) * (1 + 1e-6)


def test_bfloat16_keeps_its_type_and_zeros():
    weights, config = make()
    half = jax.tree.map(lambda a: a.astype(jnp.bfloat16), weights)
    found, _ = run(half, tokens(config), config, attention="sparsegpt", ratio=0.5)
    assert all(leaf.dtype == jnp.bfloat16 for leaf in jax.tree.leaves(found))
    assert zeros(found, "query") == [128, 128]


def test_finished_layers_are_kept(tmp_path, monkeypatch):
    """Stopped after the first layer, the same call computes the second one alone."""
    weights, config = make()
    text = tokens(config)
    want, report = run(weights, text, config, ratio=0.5)
    calls, prune = [], layers.prune_layer

    def stop(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return prune(*args)

    monkeypatch.setattr(layers, "prune_layer", stop)
    with pytest.raises(KeyboardInterrupt):
        run(weights, text, config, ratio=0.5, keep=tmp_path)
    seen = []
    found, again = run(
        weights, text, config, ratio=0.5, keep=tmp_path, progress=lambda *event: seen.append(event)
    )
    assert len(calls) == 3 and [event[1] for event in seen] == [1, 2]
    chex.assert_trees_all_equal(found, want)
    np.testing.assert_array_equal(again.sparsity, report.sparsity)
    run(weights, text, config, ratio=0.4, keep=tmp_path)  # another request starts anew
    assert len(calls) == 5


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"attention": "wandas"}, "attention = 'wandas': unknown"),
        ({"mlp": "gradient"}, "mlp = 'gradient'"),
        ({"value_output": "no"}, "value_output = 'no'"),
        ({"ratio": 1.0}, "ratio = 1.0: must be a number in [0, 1)"),
        ({"ratio": -0.1}, "ratio = -0.1"),
        ({"ratio": float("nan")}, "ratio = nan"),
        ({"mlp_ratio": 2}, "mlp_ratio = 2"),
        ({"ratio": True}, "ratio = True"),
        ({"pattern": (5, 4)}, "pattern = 5:4"),
        ({"pattern": (2, 4), "ratio": 0.7}, "ratio = 0.7: pattern = 2:4 makes a share of 0.5 zero"),
        ({"pattern": (1, 4), "ratio": 0.5}, "ratio = 0.5: pattern = 1:4 makes a share of 0.75"),
        ({"pattern": (2, 4), "mlp": "wanda", "mlp_ratio": 0.4}, "mlp_ratio = 0.4: pattern = 2:4"),
        ({"mlp_ratio": 0.5}, "mlp_ratio = 0.5: has no effect with attention = 'gradient', mlp ="),
        ({"attention": "dense", "ratio": 0.5}, "ratio = 0.5: has no effect with attention = 'de"),
        (
            {"attention": "dense", "mlp": "wanda", "ratio": 0.5, "mlp_ratio": 0.5},
            "ratio = 0.5: has",
        ),
        ({"attention": "dense", "pattern": (2, 4)}, "pattern = (2, 4): has no effect"),
        ({"attention": "dense", "mlp": "wanda", "temperature": True}, "temperature = True: has no"),
        ({"pattern": (2, 5)}, "query has 16 inputs"),
        ({"gradient": llama.Gradient(())}, "regularizations = ()"),
        ({"gradient": llama.Gradient((0.0,))}, "regularizations = (0.0,)"),
        ({"gradient": llama.Gradient(selection=0.9)}, "selection = 0.9"),
        ({"gradient": llama.Gradient(ranking="up")}, "ranking = 'up'"),
        ({"gradient": llama.Gradient(fit=llama.Fit(batch=9))}, "batch = 9: must be at most the 4"),
        ({"gradient": llama.Gradient(fit=llama.Fit(stops=(2.0,)))}, "stops = (2.0,)"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(methods, message):
    weights, config = make()
    with pytest.raises(InputError) as refused:
        llama.prune(weights, tokens(config), config, **methods)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("methods", "shares"),
    [
        ({}, (0.5, 0)),
        ({"ratio": 0.25}, (0.25, 0)),
        ({"pattern": (1, 4)}, (0.75, 0)),
        ({"pattern": (1, 3), "ratio": 0.67, "mlp": "wanda"}, (2 / 3, 2 / 3)),
        ({"mlp": "wanda", "ratio": 0.25}, (0.25, 0.25)),
        ({"mlp": "wanda", "mlp_ratio": 0.25}, (0.5, 0.25)),
        ({"attention": "dense", "mlp": "wanda", "ratio": 0.25}, (0, 0.25)),
        ({"attention": "dense", "mlp": "wanda", "mlp_ratio": 0}, (0, 0)),
        ({"attention": "dense", "value_output": "wanda", "ratio": 0.25}, (0.25, 0)),
        ({"attention": "dense"}, (0, 0)),
    ],
)
def test_attributes_say_what_was_done(methods, shares):
    weights, config = make(layers=1, width=24)
    methods = {"attention": "magnitude"} | methods
    _, report = llama.prune(weights, tokens(config), config, **methods)
    assert [report.attrs[name] for name in ("ratio", "mlp_ratio")] == pytest.approx([*shares])
    pruned = "value" if methods["attention"] == "dense" else "query"
    found = [float(report.sparsity.sel(layer=0, matrix=matrix)) for matrix in (pruned, "up")]
    assert found == pytest.approx([*shares], abs=1 / 24)


def test_windows_beyond_the_positions_of_the_model_are_a_warning():
    """Of a config that was read from a file; one that was made here has no such number."""
    weights, made = make(layers=1)
    text = tokens(made, sequences=2)
    read = dataclasses.replace(made, source='{"max_position_embeddings": 11}')
    calls = [
        lambda config: llama.perplexity(weights, text, config),
        lambda config: llama.prune(weights, text, config, attention="magnitude"),
        lambda config: llama.prune(
            weights, text[:, :8], config, attention="magnitude", heldout=text
        ),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="windows of 12 tokens exceed .* = 11") as given:
            call(read)
        assert len(given) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(made)
            call(dataclasses.replace(made, source='{"max_position_embeddings": 12}'))
            call(dataclasses.replace(made, source='{"eos_token_id": 1}'))  # the default, 2048


def test_weights_that_are_not_finite_are_named():
    weights, config = make()
    broken = weights.replace(norm=weights.norm, embedding=weights.embedding * jnp.nan)
    with pytest.raises(InputError, match="layer 0, query"):
        run(broken, tokens(config), config, attention="sparsegpt")
