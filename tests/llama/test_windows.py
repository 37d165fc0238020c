"""Windows by layer, and all else that config.json decides, against an independent NumPy version."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from jaxtheory import InputError, llama
from jaxtheory.llama import config as configs
from jaxtheory.llama.rope import frequencies

from . import reference

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "rms_norm_eps": 1e-5,
}
FULL, SLIDING = "full_attention", "sliding_attention"
USED = {"use_sliding_window": True, "sliding_window": 4}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
CASES = {
    "llama": ("llama", {"sliding_window": 2, "rope_theta": 100.0}),
    "llama, linear": ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    "llama, llama3": (
        "llama",
        {"rope_scaling": LLAMA3 | {"original_max_position_embeddings": 16}, "rope_theta": 50.0},
    ),
    "mistral": ("mistral", {"sliding_window": 3}),
    "mistral, window of one": ("mistral", {"sliding_window": 1}),
    "mistral, no window": ("mistral", {"sliding_window": None}),
    "mistral, window of the text": ("mistral", {"sliding_window": 10}),
    "mistral, by layer": (
        "mistral",
        {"sliding_window": 3, "layer_types": [FULL, SLIDING, FULL]},
    ),
    "mistral, full layers": ("mistral", {"sliding_window": 3, "layer_types": [FULL] * 3}),
    "mistral, sliding layers": ("mistral", {"sliding_window": 3, "layer_types": [SLIDING] * 3}),
    "qwen2, not used": ("qwen2", {"sliding_window": 3, "max_window_layers": 0}),
    "qwen2, all layers": ("qwen2", USED | {"max_window_layers": 0}),
    "qwen2, upper layers": ("qwen2", USED | {"max_window_layers": 2}),
    "qwen2, above the last layer": ("qwen2", USED),
    "qwen2, by layer": ("qwen2", USED | {"layer_types": [SLIDING, FULL, SLIDING]}),
    "qwen2, tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3, by layer": ("qwen3", USED | {"layer_types": [FULL, FULL, SLIDING]}),
    "qwen3, upper layers": ("qwen3", USED | {"max_window_layers": 1, "sliding_window": 2}),
}


def checkpoint(place, kind, entries):
    """Random arrays of every kind under a config.json with these entries."""
    config = llama.Config(
        **SIZES, model_type=kind, tie_word_embeddings=entries.get("tie_word_embeddings", False)
    )
    drawn = np.random.default_rng(0)
    draw = lambda a: (a.ndim == 1) + drawn.normal(0, 0.5, a.shape)
    llama.save(place, jax.tree.map(draw, llama.init(jax.random.key(0), config)), config)
    entries = SIZES | {"model_type": kind} | entries
    (place / "config.json").write_text(json.dumps(entries))
    return load_file(place / "model.safetensors"), entries


@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_numpy(tmp_path, case):
    arrays, entries = checkpoint(tmp_path / "a", *CASES[case])
    text = np.random.default_rng(1).integers(0, 40, 10)
    want = reference.logits(arrays, entries, text)
    weights, config = llama.load(tmp_path / "a")
    np.testing.assert_allclose(llama.logits(weights, [text], config)[0], want, atol=1e-9)
    for i, variant in enumerate((config, dataclasses.replace(config, source="{}"))):
        again = configs.parse(configs.dump(variant, "float64"), "config.json")
        assert dataclasses.replace(again, source="") == dataclasses.replace(config, source=""), i


@pytest.mark.parametrize("kind", reference.LENGTHS)
def test_lengths_of_the_training_that_a_file_leaves_out(kind):
    """llama3 scales by the default max_position_embeddings of each model type."""
    entries = SIZES | {"model_type": kind, "rope_scaling": LLAMA3}
    rope = configs.parse(json.dumps(entries), "config.json").rope
    want = [reference.frequency(entries, i, 6) for i in range(3)]
    np.testing.assert_allclose(frequencies(rope, 6), want)
    explicit_rope = configs.parse(
        json.dumps(entries | {"max_position_embeddings": 16}), "config.json"
    ).rope
    assert explicit_rope.original_length == 16 and rope.original_length == reference.LENGTHS[kind]


def test_windows_of_a_config_that_was_changed_are_what_is_written():
    """Layer types of the file that was read do not outlive those of the config."""
    entries = SIZES | {"model_type": "mistral", "sliding_window": 3}
    read = configs.parse(json.dumps(entries | {"layer_types": [FULL, SLIDING, FULL]}), "x")
    for changes in (
        {"layer_types": ()},
        {"layer_types": (SLIDING, FULL, FULL)},
        {"layer_types": (), "sliding_window": None},
        {"layer_types": (), "num_hidden_layers": 2},
        {"layer_types": (FULL, SLIDING), "num_hidden_layers": 2, "sliding_window": 5},
    ):
        changed = dataclasses.replace(read, **changes)
        again = configs.parse(configs.dump(changed, "float32"), "config.json")
        assert dataclasses.replace(again, source="") == dataclasses.replace(changed, source="")
    plain = configs.parse(json.dumps(entries), "x")
    assert "layer_types" not in json.loads(configs.dump(plain, "float32"))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"layer_types": [FULL, SLIDING]}, "one entry for each of the num_hidden_layers = 3"),
        ({"layer_types": [FULL, "chunked_attention", FULL]}, "'chunked_attention' is not"),
        ({"layer_types": [SLIDING] * 3, "sliding_window": None}, "needs a number as sliding"),
        ({"layer_types": "full_attention"}, "layer_types = 'full_attention'"),
    ],
)
def test_windows_by_layer_that_cannot_be_are_refused(entries, message):
    with pytest.raises(InputError) as refused:
        configs.parse(json.dumps(SIZES | {"model_type": "mistral"} | entries), "config.json")
    assert message in str(refused.value)
