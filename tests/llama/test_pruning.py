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
    mlp_method = method if method != "gradient" else "magnitude"
    sparse, report = run(
        weights, tokens(config), config, attention=method, mlp=mlp_method, ratio=0.6, mlp_ratio=0.3
    )
    wanted = {"query": 0.6, "key": 0.6, "value": 0, "output": 0} | dict.fromkeys(
        ("gate", "up", "down"), 0.3
    )
    for matrix in MATRICES:
        m, n = getattr(weights.layers[0], matrix).shape
        rows = (method if matrix in ("query", "key") else mlp_method) == "wanda"
        share = wanted[matrix]
        count = n * int(share * m + 1e-9) if rows else int(share * m * n + 1e-9)
        assert zeros(sparse, matrix) == [count, count]
        np.testing.assert_array_equal(report.sparsity.sel(matrix=matrix), count / (m * n))
    for field in ("input_norm", "mlp_norm", "value", "output"):
        for a, b in zip(sparse.layers, weights.layers, strict=True):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_pruned_is_the_model_itself(method):
    weights, config = make()
    mlp_method = method if method != "gradient" else "wanda"
    sparse, report = run(
        weights,
        tokens(config),
        config,
        attention=method,
        mlp=mlp_method,
        value_output=mlp_method,
        ratio=0,
    )
    chex.assert_trees_all_close(sparse, weights, rtol=1e-6)
    np.testing.assert_allclose(report.attention_error, 0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_patterns_keep_n_of_every_m_inputs(method):
    weights, config = make()
    mlp_method = method if method != "gradient" else "wanda"
    sparse, _ = run(
        weights,
        tokens(config),
        config,
        attention=method,
        mlp=mlp_method,
        value_output=mlp_method,
        pattern=(1, 4),
    )
    for layer in sparse.layers:
        for matrix in MATRICES:
            W = np.asarray(getattr(layer, matrix))
            counts = (W.reshape(-1, 4, W.shape[1]) != 0).sum(axis=1)
            assert (counts == 1).all(), matrix


def test_layers_are_pruned_one_by_one_behind_what_earlier_ones_became():
    """Each with its own draws and window, and its errors on both texts, as if it were alone."""
    weights, config = make(
        model_type="qwen2", sliding_window=3, layer_types=("full_attention", "sliding_attention")
    )
    text, heldout = tokens(config), tokens(config, 2, seed=1)
    gradient = FAST._replace(fit=llama.Fit(steps=4, batch=2))
    methods = {"mlp": "wanda", "ratio": 0.5, "gradient": gradient}
    sparse, report = llama.prune(weights, text, config, heldout=heldout, key=5, **methods)
    plan, ratios = layers.LayerPlan(mlp="wanda", gradient=gradient), layers.Ratios(0.5, 0.5)
    streams = [model.embed(weights, t) for t in (text, heldout)]
    for i, layer in enumerate(weights.layers):
        at, key = config.at(i), jax.random.fold_in(jax.random.key(5), i)
        sparse_layer, choice = layers.prune_layer(key, layer, streams[0], ratios, plan, at)
        chex.assert_trees_all_equal(sparse_layer, sparse.layers[i])
        errors = [float(layers.attention_error(layer, sparse_layer, x, at)) for x in streams]
        names = ("attention_error", "attention_error_heldout")
        assert [float(report[name][i]) for name in names] == errors and errors[0] != errors[1]
        assert float(report.regularization[i]) == float(choice.regularization)
        streams = [model.block(sparse_layer, x, at) for x in streams]
    redraw = llama.prune(weights, text, config, key=6, **methods)[0]
    assert np.abs(np.asarray(redraw.layers[0].query - sparse.layers[0].query)).max() > 0


def test_lambda_is_the_one_of_least_error():
    weights, config = make(layers=1)
    text = tokens(config)
    grid = (0.003, 0.03, 0.3)
    grid_run = llama.prune(
        weights, text, config, ratio=0.5, gradient=FAST._replace(regularizations=grid)
    )
    single_runs = [
        llama.prune(
            weights, text, config, ratio=0.5, gradient=FAST._replace(regularizations=(lam,))
        )
        for lam in grid
    ]
    errors = [float(report.attention_error[0]) for _, report in single_runs]
    assert float(grid_run[1].attention_error[0]) == pytest.approx(min(errors), rel=1e-5)
    assert float(grid_run[1].regularization[0]) == pytest.approx(grid[int(np.argmin(errors))])


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
        variant = llama.prune(weights, text, config, ratio=0.5, gradient=gradient)[0]
        assert zeros(variant, "query") == [plain.size // 2], name
        assert np.abs(np.asarray(variant.layers[0].query - plain)).max() > 0, name


@pytest.mark.parametrize("method", METHODS)
def test_temperatures_lower_the_error_and_keep_the_zeros(method):
    weights, config = make(layers=1)
    text = tokens(config)
    plain, before = run(weights, text, config, attention=method, ratio=0.75)
    variant, after = run(weights, text, config, attention=method, ratio=0.75, temperature=True)
    assert zeros(variant, "query") == zeros(plain, "query")
    assert float(after.attention_error[0]) <= float(before.attention_error[0]) * (1 + 1e-6)


def test_the_temperature_of_a_head_is_the_best_of_all():
    """Of 33 factors from 1/2 to 2, one per head, on the queries and on their biases."""
    weights, config = make(layers=1, model_type="qwen2")
    bias = jax.random.normal(jax.random.key(1), weights.layers[0].query_bias.shape, "float32")
    weights = weights.replace(layers=(weights.layers[0].replace(query_bias=bias),))
    text, methods = tokens(config), {"attention": "magnitude", "ratio": 0.75}
    (plain,), (variant,) = (
        llama.prune(weights, text, config, temperature=scaled, **methods)[0].layers
        for scaled in (False, True)
    )
    x = model.rms_norm(model.embed(weights, text), plain.input_norm, config)
    target, errors = model.attention(weights.layers[0], x, config), []
    factors = (2.0 ** (np.arange(-16, 17) / 16)).astype(np.float32)
    scale = jax.jit(
        lambda a: model.attention(
            plain.replace(query=plain.query * a, query_bias=plain.query_bias * a), x, config
        )
    )
    errors = [np.sum((scale(a) - target) ** 2, axis=(0, 3, 4)).ravel() for a in factors]
    best = np.repeat(factors[np.argmin(errors, axis=0)], config.head_dim)
    np.testing.assert_allclose(variant.query, plain.query * best[None], rtol=1e-6)
    np.testing.assert_allclose(variant.query_bias, plain.query_bias * best, rtol=1e-6)
    assert len({*best.tolist()}) > 1 and min(best) < 1


@pytest.mark.slow
def test_the_stop_is_chosen_on_the_sequences_that_are_not_fitted():
    """After 2 of 6 steps the error is least on the last sequence, after 6 on the first three."""
    weights, config = make(layers=1)
    text, stops = tokens(config, seed=2), {1 / 3: 2, 1.0: 6}
    setting = llama.Gradient((0.05,), selection=0.25, fit=llama.Fit(steps=6, stops=(*stops,)))
    sparse, report = llama.prune(weights, text, config, gradient=setting)
    x, candidates = model.embed(weights, text), {}
    for stop, steps in stops.items():
        one = llama.Gradient((0.05,), fit=llama.Fit(steps=steps))
        (layer,) = llama.prune(weights, text[:3], config, gradient=one)[0].layers
        errors = [layers.attention_error(weights.layers[0], layer, y, config) for y in (x[3:], x)]
        candidates[stop] = (*map(float, errors), layer.query)
    best, rival = (min(candidates, key=lambda stop: candidates[stop][i]) for i in range(2))
    assert float(report.stop[0]) == pytest.approx(best) and best != rival
    np.testing.assert_array_equal(sparse.layers[0].query, candidates[best][2])


def test_bfloat16_keeps_its_type_and_zeros():
    weights, config = make()
    half = jax.tree.map(lambda a: a.astype(jnp.bfloat16), weights)
    sparse, _ = run(half, tokens(config), config, attention="sparsegpt", ratio=0.5)
    assert all(leaf.dtype == jnp.bfloat16 for leaf in jax.tree.leaves(sparse))
    assert zeros(sparse, "query") == [128, 128]


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
    events = []
    sparse, again = run(
        weights,
        text,
        config,
        ratio=0.5,
        keep=tmp_path,
        progress=lambda *event: events.append(event),
    )
    assert len(calls) == 3 and [event[1] for event in events] == [1, 2]
    chex.assert_trees_all_equal(sparse, want)
    np.testing.assert_array_equal(again.sparsity, report.sparsity)
    run(weights, text, config, ratio=0.4, keep=tmp_path)  # another request starts anew
    assert len(calls) == 5


def test_kept_layers_are_those_of_the_same_windows(tmp_path):
    """Also where other windows have the same tokens in the same order."""
    weights, config = make()
    text = np.asarray(tokens(config))
    half = len(text) // 2
    ways = [
        {"tokens": text},
        {"tokens": text.reshape(2 * len(text), -1)},
        {"tokens": text[:half], "heldout": text[half:]},
        {"tokens": text[:half], "heldout": text[half:][::-1, ::-1]},
    ]
    for way in ways:
        plain, cache_report = (
            llama.prune(weights, config=config, attention="wanda", ratio=0.5, keep=place, **way)[1]
            for place in (None, tmp_path)
        )
        for name in ("attention_error", "attention_error_heldout"):
            np.testing.assert_array_equal(cache_report[name], plain[name])
    assert len([*tmp_path.iterdir()]) == len(ways)


@pytest.mark.parametrize("fewer", [0, 1])
def test_a_method_that_gives_too_few_zeros_is_refused(fewer, monkeypatch):
    weights, config = make()
    prune = layers.prune_layer

    def short(*args):
        pruned, choice = prune(*args)
        flat = np.array(pruned.key).ravel()
        flat[np.flatnonzero(flat == 0)[:fewer]] = 1
        return dataclasses.replace(pruned, key=flat.reshape(pruned.key.shape)), choice

    monkeypatch.setattr(layers, "prune_layer", short)
    call = lambda: run(weights, tokens(config), config, attention="magnitude", ratio=0.5)
    if not fewer:
        call()
        return
    with pytest.raises(InputError, match="layer 0, key: magnitude gave 63 zeros of 64"):
        call()


def test_the_shares_of_zeros_are_of_weights_not_of_matrices():
    weights, config = make()
    sparse, report = run(weights, tokens(config), config, attention="magnitude", mlp="magnitude")
    pruned = [np.asarray(getattr(layer, m)) for layer in sparse.layers for m in MATRICES]
    zero_count, size = sum(np.sum(w == 0) for w in pruned), sum(w.size for w in pruned)
    assert float(report.sparsity_of_layers) == pytest.approx(zero_count / size)
    total = sum(leaf.size for leaf in jax.tree.leaves(sparse))
    assert float(report.sparsity_of_model) == pytest.approx(zero_count / total)


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
    sparsities = [float(report.sparsity.sel(layer=0, matrix=matrix)) for matrix in (pruned, "up")]
    assert sparsities == pytest.approx([*shares], abs=1 / 24)


def test_windows_beyond_the_positions_of_the_model_are_a_warning():
    """Of a config that was read from a file; one that was made here has no such number."""
    weights, config = make(layers=1)
    text, short = tokens(config, sequences=2), tokens(config, sequences=2, length=8)
    read = dataclasses.replace(config, source='{"max_position_embeddings": 11}')
    prune = lambda text, **more: llama.prune(weights, text, read, attention="magnitude", **more)
    for call in (
        lambda: llama.perplexity(weights, text, read),
        lambda: prune(text),
        lambda: prune(short, heldout=text),
    ):
        with pytest.warns(UserWarning, match=r"windows of 12 tokens exceed .* = 11: ") as record:
            call()
        assert len(record) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(short)
        for source in ("{}", '{"max_position_embeddings": 12}', '{"eos_token_id": 1}'):
            llama.perplexity(weights, text, dataclasses.replace(config, source=source))


def test_weights_that_are_not_finite_are_named():
    weights, config = make()
    broken = weights.replace(norm=weights.norm, embedding=weights.embedding * jnp.nan)
    with pytest.raises(InputError, match="layer 0, query"):
        run(broken, tokens(config), config, attention="sparsegpt")
