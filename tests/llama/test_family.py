"""Mistral, Qwen2 and Qwen3 against transformers, and the windows, biases and norms they have."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.some import some

from jaxtheory import InputError, llama
from jaxtheory.llama import config as configs
from jaxtheory.llama import masks, model
from jaxtheory.llama.layers import MATRICES

from .models import tokens

LENGTH = 24
SIZES = {"vocab_size": 53, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3}
GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2}
MIXED = {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}
CASES = {
    "mistral, short window": ("mistral", dict(sliding_window=7, **GROUPED)),
    "mistral, window of one": ("mistral", dict(sliding_window=1, **GROUPED)),
    "mistral, window of the text less one": ("mistral", dict(sliding_window=LENGTH - 1, **GROUPED)),
    "mistral, long window": ("mistral", {"sliding_window": 100, "tie_word_embeddings": True}),
    "mistral, no window": ("mistral", dict(sliding_window=None, head_dim=12, **GROUPED)),
    "mistral, by layer": (
        "ministral",
        dict(
            head_dim=8,
            sliding_window=4,
            layer_types=["full_attention", "sliding_attention", "full_attention"],
            **GROUPED,
        ),
    ),
    "qwen2": ("qwen2", dict(sliding_window=5, tie_word_embeddings=True, **GROUPED)),
    "qwen2, upper layers": ("qwen2", dict(**MIXED, **GROUPED)),
    "qwen2, all layers": ("qwen2", dict(**(MIXED | {"max_window_layers": 0}), **GROUPED)),
    "qwen3": ("qwen3", dict(head_dim=12, tie_word_embeddings=True, **GROUPED)),
    "qwen3, by layer": (
        "qwen3",
        dict(
            head_dim=8,
            use_sliding_window=True,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            **GROUPED,
        ),
    ),
}


def make_model(kind, place, **entries):
    """A random model of transformers, biases and norms included, saved in a folder.

    A Ministral is saved as those who published it did, as a Mistral with layer_types.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
    config = transformers.AutoConfig.for_model(kind, **(SIZES | heads | entries))
    torch.manual_seed(0)
    theirs = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, weight in theirs.named_parameters():
        torch.nn.init.normal_(weight, 1.0 if "norm" in name else 0.0, 0.3)
    theirs.save_pretrained(place)
    path = place / "config.json"
    path.write_text(path.read_text().replace("inistral", "istral"))
    return theirs


def loaded(place):
    transformers = pytest.importorskip("transformers")
    return transformers.AutoModelForCausalLM.from_pretrained(place).eval()


def logits(theirs, text):
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        return theirs(torch.tensor(text)).logits.numpy()


def close(got, want, tolerance):
    assert np.abs(np.asarray(got) - want).max() <= tolerance * np.abs(want).max()


@pytest.mark.parametrize("case", CASES)
def test_logits_and_checkpoints_agree_with_transformers(tmp_path, case):
    """In float32, and in float64, where transformers computes norms and rotations in float32."""
    kind, entries = CASES[case]
    theirs = make_model(kind, tmp_path / "theirs", **entries)
    text = np.random.default_rng(0).integers(0, 53, (2, LENGTH))
    want = logits(theirs, text)
    weights, config = llama.load(tmp_path / "theirs")
    close(llama.logits(weights, text, config), want, 1e-5)
    for name, variant in (("as read", config), ("anew", dataclasses.replace(config, source="{}"))):
        llama.save(tmp_path / name, weights, variant)
        assert type(loaded(tmp_path / name)) is type(theirs)
        np.testing.assert_array_equal(logits(loaded(tmp_path / name), text), want)
        again = dataclasses.replace(llama.load(tmp_path / name)[1], source="{}")
        assert again == dataclasses.replace(config, source="{}")
    wide = jax.tree.map(lambda a: a.astype(jnp.float64), weights)
    close(llama.logits(wide, text, config), logits(theirs.double(), text), 2e-6)


FAMILY = {
    "mistral": {"sliding_window": 3},
    "qwen2": {"sliding_window": 3, "layer_types": ("full_attention", "sliding_attention")},
    "qwen3": {},
}


def random(kind, dtype="float32"):
    """A model of ours, with random biases and norms."""
    config = llama.Config(40, 16, 24, 2, 4, 2, 6, model_type=kind, **FAMILY[kind])
    drawn = np.random.default_rng(0)
    draw = lambda a: jnp.asarray((a.ndim == 1) + drawn.normal(0, 0.4, a.shape), dtype)
    return jax.tree.map(draw, llama.init(jax.random.key(0), config)), config


@pytest.mark.parametrize("kind", FAMILY)
def test_gradient_of_the_masks_is_that_of_the_loss(kind):
    weights, config = random(kind, "float64")
    layer, config = weights.layers[1], config.at(1)
    drawn = np.random.default_rng(1)
    x = jnp.asarray(drawn.normal(size=(3, 7, 16)))
    M = masks.Masks(*(jnp.asarray(drawn.normal(0.5, 0.7, a.shape)) for a in masks._ones(layer)))
    target = model.attention(layer, x, config)
    want = jax.grad(masks._loss)(M, target, layer, x, 0.3, config)
    for a, b in zip(masks._gradient(M, target, layer, x, 0.3, config), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * float(jnp.abs(b).max()))


@pytest.mark.parametrize("kind", FAMILY)
def test_a_token_is_seen_as_far_as_the_windows_reach(kind):
    """Through layers of windows w one token reaches the sum of the w - 1 positions after it."""
    weights, config = random(kind)
    text = tokens(config, 1, 10)
    changed = text.copy()
    changed[0, 2] += 1 - 2 * (text[0, 2] == 39)
    gaps = np.abs(llama.logits(weights, text, config) - llama.logits(weights, changed, config))
    last = {"mistral": 2 + 2 + 2, "qwen2": 9, "qwen3": 9}[kind]
    assert [bool(gap) for gap in gaps[0].max(-1) > 0] == [2 <= t <= last for t in range(10)]


METHODS = ("gradient", "wanda", "sparsegpt", "magnitude")
PAIRS = [(kind, method) for kind in FAMILY for method in METHODS]
OFTEN = [("mistral", "gradient"), ("qwen2", "sparsegpt"), ("qwen2", "gradient"), ("qwen3", "wanda")]


@pytest.mark.parametrize(("kind", "method"), some(PAIRS, *OFTEN))
def test_every_method_prunes_the_matrices_and_nothing_else(tmp_path, kind, method):
    weights, config = random(kind)
    mlp_method = "wanda" if method == "gradient" else method
    methods = {
        "attention": method,
        "mlp": mlp_method,
        "value_output": mlp_method,
        "temperature": True,
    }
    options = {"pattern": (2, 4), "gradient": llama.Gradient((0.01,), fit=llama.Fit(steps=3))}
    call = lambda: llama.prune(
        weights, tokens(config), config, keep=tmp_path / "kept", **methods, **options
    )
    sparse, report = call()
    np.testing.assert_array_equal(report.sparsity, 0.5)
    assert (report.attention_error < 1).all()
    scaled = {"query", "query_bias", "query_norm"}
    for new, old in zip(sparse.layers, weights.layers, strict=True):
        for name in set(old.__dataclass_fields__) - set(MATRICES) - scaled:
            np.testing.assert_array_equal(getattr(new, name), getattr(old, name))
    again, _ = call()  # from the finished layers
    jax.tree.map(np.testing.assert_array_equal, again, sparse)
    text = tokens(config, seed=1)
    llama.save(tmp_path / "pruned", sparse, config)
    close(llama.logits(sparse, text, config), logits(loaded(tmp_path / "pruned"), text), 1e-5)


def test_one_temperature_where_heads_share_a_norm():
    """Factors on W_Q do nothing behind an RMSNorm, so its scale takes one factor for all heads."""
    weights, config = random("qwen3")
    prune = lambda **more: llama.prune(
        weights, tokens(config), config, attention="magnitude", ratio=0.75, **more
    )
    plain, before = prune()
    variant, after = prune(temperature=True)
    ratio = variant.layers[0].query_norm / plain.layers[0].query_norm
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    np.testing.assert_array_equal(variant.layers[0].query, plain.layers[0].query)
    assert float(after.attention_error[0]) < float(before.attention_error[0])


QWEN = {"model_type": "qwen2", "use_sliding_window": True}
REFUSED = {
    "other family": ({"model_type": "mixtral"}, "model_type = 'mixtral' is not supported"),
    "experts": ({"model_type": "qwen3_moe"}, "only 'llama' or 'mistral' or 'qwen2' or 'qwen3' is"),
    "list": ({"model_type": ["qwen2"]}, "model_type = ['qwen2'] is not supported"),
    "quantized": (
        {**QWEN, "quantization_config": {"bits": 4}},
        "quantization_config = {'bits': 4}",
    ),
    "window 0": (
        {"model_type": "mistral", "sliding_window": 0},
        "sliding_window = 0: must be null",
    ),
    "window text": ({"model_type": "mistral", "sliding_window": "4"}, "sliding_window = '4'"),
    "flag": ({**QWEN, "use_sliding_window": 1}, "use_sliding_window = 1: must be true or false"),
    "layers": ({**QWEN, "max_window_layers": None}, "max_window_layers = None: must be an integer"),
    "types": ({**QWEN, "layer_types": ["full_attention"]}, "one entry for each of the num_hidden"),
    "type": ({**QWEN, "layer_types": ["chunked_attention"] * 2}, "'chunked_attention' is not"),
    "no window": (
        {"model_type": "qwen3", "layer_types": ["sliding_attention"] * 2},
        "needs a number as sliding_window (and, in a Qwen, use_sliding_window = true)",
    ),
    "another norm": ({"model_type": "qwen3", "attention_bias": True}, "attention_bias = True"),
    "no biases": ({"model_type": "qwen2"}, "self_attn.q_proj.bias: no file"),
    "no norms": ({"model_type": "qwen3", "head_dim": 6}, "self_attn.q_norm.weight: no file"),
    "default of Mistral": (
        {"model_type": "mistral", "num_key_value_heads": ...},
        "multiple of num",
    ),
    "default of Qwen3": (
        {"model_type": "qwen3", "head_dim": ...},
        "the shape [24, 16], config.json",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_entries_that_are_not_read_are_refused_by_name(tmp_path, changes, message):
    """The Llama as a checkpoint of another type; ... drops an entry, whose default then differs."""
    config = llama.Config(40, 16, 24, 2, 4, 2, 6)
    llama.save(tmp_path / "a", llama.init(jax.random.key(0), config), config)
    path = tmp_path / "a" / "config.json"
    entries = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in entries.items() if v is not ...}))
    with pytest.raises(InputError) as refused:
        llama.load(tmp_path / "a")
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sliding_window": 4}, "sliding_window = 4: a Llama must have None"),
        ({"model_type": "gemma"}, "model_type = 'gemma' is not supported"),
        ({"model_type": ["llama"]}, "model_type = ['llama'] is not supported"),
        ({"layer_types": ("full_attention",) * 2}, "must be empty if model_type = 'llama'"),
        ({"model_type": "mistral", "layer_types": ("full_attention",) * 2}, "needs sliding_window"),
        ({"model_type": "qwen2", "layer_types": ("full_attention",) * 2}, "needs sliding_window"),
    ],
)
def test_configs_that_cannot_be_are_refused(fields, message):
    with pytest.raises(InputError) as refused:
        llama.Config(40, 16, 24, 2, 4, 2, 6, **fields)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "windows", "changes"),
    [
        ("qwen3", {"layer_types": ["full_attention"] * 4}, {"num_hidden_layers": 2}),
        ("qwen3", {**MIXED, "max_window_layers": 4}, {"num_hidden_layers": 6}),
        ("mistral", {}, {"model_type": "qwen2"}),
    ],
)
def test_a_config_with_other_layers_is_read_back(kind, windows, changes):
    """Windows that are the same still need other entries for other layers."""
    sizes = SIZES | GROUPED | {"head_dim": 8, "num_hidden_layers": 4, "sliding_window": 5}
    read = configs.parse(json.dumps({"model_type": kind, **sizes, **windows}), "config.json")
    changed = dataclasses.replace(read, **changes)
    again = configs.parse(configs.dump(changed, "float32"), "config.json")
    assert dataclasses.replace(again, source="") == dataclasses.replace(changed, source="")


def test_a_list_of_layer_types_is_a_tuple():
    kinds = ["full_attention", "sliding_attention"]
    options = {"model_type": "qwen2", "sliding_window": 3}
    listed = llama.Config(40, 16, 24, 2, 4, 2, 6, layer_types=kinds, **options)
    same = llama.Config(40, 16, 24, 2, 4, 2, 6, layer_types=tuple(kinds), **options)
    assert listed == same and hash(listed) == hash(same)
