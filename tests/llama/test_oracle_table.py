"""How config.json and tensors may be written: logits of transformers, or the entry at fault."""

import json

import numpy as np
import pytest

from jaxtheory import InputError, llama

torch = pytest.importorskip("torch", reason="the oracle: make oracle")
transformers = pytest.importorskip("transformers", reason="the oracle: make oracle")

TOKENS = np.arange(80).reshape(2, 40) * 7 % 64
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
DROP = object()
OLD = {"rope_parameters": DROP, "rope_theta": 500000.0}  # as transformers 4 writes rotations


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tiny random Llama in a folder, by transformers; its logits depend on every entry."""
    place = tmp_path_factory.mktemp("made")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        tie_word_embeddings=False,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(place)
    return place


def copied(source, place, changes=(), tensors=None):
    """The checkpoint with other entries and other tensors."""
    from safetensors.torch import load_file, save_file

    place.mkdir()
    entries = json.loads((source / "config.json").read_text()) | dict(changes)
    entries = {name: value for name, value in entries.items() if value is not DROP}
    (place / "config.json").write_text(json.dumps(entries))
    arrays = load_file(source / "model.safetensors")
    arrays = arrays if tensors is None else tensors(arrays)
    save_file(arrays, place / "model.safetensors", metadata={"format": "pt"})
    return place


def theirs(place):
    model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32).eval()
    with torch.no_grad():
        return model(torch.tensor(TOKENS)).logits.numpy()


def ours(place):
    weights, config = llama.load(place)
    return np.asarray(llama.logits(weights, TOKENS, config))


SAME = {
    "as it is": {},
    "theta outside": {**OLD},
    "theta an integer": {**OLD, "rope_theta": 500000},
    "no theta": {"rope_parameters": DROP},
    "theta inside before outside": {
        "rope_theta": 7.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    },
    "theta in the scaling": {
        **OLD,
        "rope_scaling": {"rope_type": "linear", "factor": 4, "rope_theta": 100.0},
    },
    "scaling null": {**OLD, "rope_scaling": None},
    "scaling empty": {**OLD, "rope_scaling": {}},
    "scaling replaces parameters": {
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
    },
    "parameters without a kind": {"rope_parameters": {"rope_theta": 77.0, "factor": 8.0}},
    "type": {**OLD, "rope_scaling": {"type": "linear", "factor": 4.0}},
    "rope_type before type": {
        **OLD,
        "rope_scaling": {"type": "linear", "rope_type": "default", "factor": 4.0},
    },
    "linear": {**OLD, "rope_scaling": {"rope_type": "linear", "factor": 0.5}},
    "default with other entries": {**OLD, "rope_scaling": {"type": "default", "factor": 4.0}},
    "llama3, length inside": {
        **OLD,
        "rope_scaling": {**LLAMA3, "original_max_position_embeddings": 16},
    },
    "llama3, length outside": {
        **OLD,
        "rope_scaling": LLAMA3,
        "original_max_position_embeddings": 16,
    },
    "llama3, lengths in both places": {
        **OLD,
        "rope_scaling": {**LLAMA3, "original_max_position_embeddings": 16},
        "original_max_position_embeddings": 32,
    },
    "llama3, no length": {**OLD, "rope_scaling": LLAMA3},
    "llama3, no length at all": {**OLD, "rope_scaling": LLAMA3, "max_position_embeddings": DROP},
    "llama3, one dictionary": {
        "rope_parameters": {**LLAMA3, "rope_theta": 500.0, "original_max_position_embeddings": 16}
    },
    "llama3, integers": {
        "rope_parameters": {
            **LLAMA3,
            "factor": 8,
            "low_freq_factor": 1,
            "high_freq_factor": 4,
            "rope_theta": 500,
            "original_max_position_embeddings": 20,
        }
    },
    "llama3, frequencies the wrong way round": {
        "rope_parameters": {
            **LLAMA3,
            "low_freq_factor": 4.0,
            "high_freq_factor": 1.0,
            "rope_theta": 500.0,
            "original_max_position_embeddings": 20,
        }
    },
    "llama3, equal frequencies": {
        "rope_parameters": {
            **LLAMA3,
            "high_freq_factor": 1.0,
            "rope_theta": 500.0,
            "original_max_position_embeddings": 20,
        }
    },
    "linear, length outside": {
        **OLD,
        "rope_scaling": {"type": "linear", "factor": 4.0},
        "original_max_position_embeddings": 16,
    },
    "partial factor of one": {**OLD, "partial_rotary_factor": 1.0},
    "head_dim null": {"head_dim": None},
    "head_dim missing": {"head_dim": DROP},
    "swish": {"hidden_act": "swish"},
    "activation missing": {"hidden_act": DROP},
    "eps missing": {"rms_norm_eps": DROP},
    "eps large": {"rms_norm_eps": 0.5},
    "biases missing": {"attention_bias": DROP, "mlp_bias": DROP},
    "tie missing": {"tie_word_embeddings": DROP},
    "tied, another head stored": {"tie_word_embeddings": True},
    "tensor parallel": {"pretraining_tp": 2},
    "dropout": {"attention_dropout": 0.5},
    "torch_dtype": {"dtype": DROP, "torch_dtype": "float16"},
    "architecture missing": {"architectures": DROP},
    "no quantization": {"quantization_config": None},
    "a window that Llama does not have": {"sliding_window": 4},
    "windows by layer that Llama does not have": {
        "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "chunks that Llama does not have": {"attention_chunk_size": 4},
    "is_causal": {"is_causal": True},
    "entries of other uses": {
        "is_encoder_decoder": True,
        "attn_implementation": "eager",
        "use_cache": False,
        "output_attentions": True,
        "pad_token_id": 3,
        "chunk_size_feed_forward": 2,
    },
    "nulls": dict.fromkeys(("text_config", "decoder", "transformers_weights", "layer_types")),
    "no other files": {"configuration_files": ["config.json"], "auto_map": {}},
}


@pytest.mark.parametrize("entries", SAME.values(), ids=SAME)
def test_entries_give_the_logits_of_transformers(checkpoint, tmp_path, entries):
    place = copied(checkpoint, tmp_path / "a", entries)
    want = theirs(place)
    np.testing.assert_allclose(ours(place), want, rtol=0, atol=1e-3)
    llama.save(tmp_path / "b", *llama.load(place), like=place)
    np.testing.assert_allclose(theirs(tmp_path / "b"), want, rtol=0, atol=1e-4)


REFUSED = {
    "yarn": ({**OLD, "rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_type = 'yarn'"),
    "yarn, null": (
        {"rope_parameters": {"rope_type": "yarn", "factor": None, "beta_fast": None}},
        "rope_type = 'yarn'",
    ),
    "dynamic": ({**OLD, "rope_scaling": {"type": "dynamic", "factor": 4.0}}, "'dynamic'"),
    "longrope": (
        {"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}},
        "'longrope'",
    ),
    "proportional": ({"rope_parameters": {"rope_type": "proportional"}}, "'proportional'"),
    "su": ({**OLD, "rope_scaling": {"type": "su", "factor": 4.0}}, "'su'"),
    "kind null": ({"rope_parameters": {"rope_type": None}}, "rope_type = None"),
    "kind a list": ({"rope_parameters": {"rope_type": ["linear"]}}, "rope_type = ['linear']"),
    "scaling a text": ({"rope_scaling": "linear"}, "rope_scaling = 'linear'"),
    "by layer": (
        {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0}}},
        "'full_attention' is an object",
    ),
    "no factor": ({**OLD, "rope_scaling": {"type": "linear"}}, "needs factor"),
    "factor null": ({**OLD, "rope_scaling": {"type": "linear", "factor": None}}, "factor = None"),
    "factor a text": (
        {**OLD, "rope_scaling": {"type": "linear", "factor": "8.0"}},
        "factor = '8.0'",
    ),
    "factor zero": ({**OLD, "rope_scaling": {"type": "linear", "factor": 0}}, "factor = 0"),
    "no low_freq_factor": (
        {**OLD, "rope_scaling": {"type": "llama3", "factor": 8.0}},
        "needs low_freq_factor",
    ),
    "length null outside": (
        {**OLD, "rope_scaling": LLAMA3, "original_max_position_embeddings": None},
        "original_max_position_embeddings = None",
    ),
    "theta null": ({**OLD, "rope_theta": None}, "rope_theta = None"),
    "theta a text": ({**OLD, "rope_theta": "1e4"}, "rope_theta = '1e4'"),
    "partial": ({**OLD, "partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5"),
    "partial inside": (
        {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}},
        "partial_rotary_factor = 0.25",
    ),
    "groups zero": ({"num_key_value_heads": 0}, "num_key_value_heads = 0"),
    "groups null": ({"num_key_value_heads": None}, "k_proj.weight: has the shape"),
    "heads a float": ({"num_attention_heads": 4.0}, "num_attention_heads = 4.0"),
    "eps a text": ({"rms_norm_eps": "1e-5"}, "rms_norm_eps = '1e-5'"),
    "eps null": ({"rms_norm_eps": None}, "rms_norm_eps = None"),
    "tie a text": ({"tie_word_embeddings": "false"}, "tie_word_embeddings = 'false'"),
    "attention_bias": ({"attention_bias": True}, "attention_bias = True"),
    "mlp_bias": ({"mlp_bias": True}, "mlp_bias = True"),
    "gelu": ({"hidden_act": "gelu"}, "hidden_act = 'gelu'"),
    "mixtral": ({"model_type": "mixtral"}, "model_type = 'mixtral'"),
    "quantized": (
        {"quantization_config": {"quant_method": "fp8"}},
        "quantization_config = {'quant_method': 'fp8'}",
    ),
    "granite": ({"logits_scaling": 8.0}, "logits_scaling = 8.0"),
    "multiplier": ({"embedding_multiplier": 12.0}, "embedding_multiplier = 12.0"),
    "cohere": ({"logit_scale": 0.0625}, "logit_scale = 0.0625"),
    "fewer layers": ({"num_hidden_layers": 1}, "num_hidden_layers = 1"),
}


@pytest.mark.parametrize(("entries", "message"), REFUSED.values(), ids=REFUSED)
def test_other_entries_are_refused_by_name_and_value(checkpoint, tmp_path, entries, message):
    with pytest.raises(InputError) as refused:
        ours(copied(checkpoint, tmp_path / "a", entries))
    assert message in str(refused.value) and "\n" not in str(refused.value)


OTHER_FILES = {
    "transformers_weights": {"transformers_weights": "other.safetensors"},
    "configuration_files": {"configuration_files": ["config.4.0.0.json"]},
    "attribute_map": {"attribute_map": {"rms_norm_eps": "initializer_range"}},
    "is_causal": {"is_causal": False},
}


@pytest.mark.parametrize("entry", OTHER_FILES)
def test_entries_that_are_refused_since_transformers_reads_another_model(
    checkpoint, tmp_path, entry
):
    place = copied(checkpoint, tmp_path / "a", OTHER_FILES[entry])
    decoy = copied(
        checkpoint, tmp_path / "b", {"rms_norm_eps": 0.5}, lambda t: {n: -t[n] for n in t}
    )
    (decoy / "config.json").rename(place / "config.4.0.0.json")
    (decoy / "model.safetensors").rename(place / "other.safetensors")
    assert np.abs(theirs(place) - theirs(checkpoint)).max() > 0.1
    with pytest.raises(InputError, match=f"{entry} = "):
        ours(place)


def test_an_adapter_beside_the_weights(checkpoint, tmp_path):
    """An adapter whose base lies in the same folder; the merged model is read."""
    peft = pytest.importorskip("peft", reason="the oracle: make oracle")
    place = copied(checkpoint, tmp_path / "a")
    want = theirs(place)
    model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)
    lora = peft.LoraConfig(
        r=4,
        lora_alpha=64,
        target_modules=["q_proj", "v_proj"],
        task_type="CAUSAL_LM",
        init_lora_weights=False,
    )
    adapted = peft.get_peft_model(model, lora)
    adapted.save_pretrained(place)
    assert np.abs(theirs(place) - want).max() > 0.1
    with pytest.raises(InputError, match=r"adapter_config\.json: transformers adds this adapter"):
        ours(place)
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    logits = ours(tmp_path / "merged")
    np.testing.assert_allclose(logits, theirs(place), rtol=0, atol=1e-3)


def renamed(old, new):
    return lambda tensors: {
        new + name.removeprefix(old) if name.startswith(old) else name: value
        for name, value in tensors.items()
    }


def without(*names):
    return lambda tensors: {n: value for n, value in tensors.items() if n not in names}


def typed(dtype):
    return lambda tensors: {name: value.to(dtype) for name, value in tensors.items()}


def added(name):
    return lambda tensors: tensors | {name: torch.ones(8)}


EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
TIED = {"tie_word_embeddings": True}
READ = {
    "tied, only the head": (TIED, without(EMBEDDING)),
    "tied, only the embedding": (TIED, without(HEAD)),
    "tied, both and equal": (TIED, lambda t: t | {HEAD: t[EMBEDDING].clone()}),
    "tied, both and another": (TIED, None),
    "a bare model": (TIED, lambda t: renamed("model.", "")(without(HEAD)(t))),
    "a bare model with a head": ({}, renamed("model.", "")),
    "float16": ({}, typed(torch.float16)),
    "bfloat16": ({}, typed(torch.bfloat16)),
    "float64": ({}, typed(torch.float64)),
    "stored rotations": ({}, added("model.layers.0.self_attn.rotary_emb.inv_freq")),
}


@pytest.mark.parametrize(("entries", "tensors"), READ.values(), ids=READ)
def test_tensors_give_the_logits_of_transformers(checkpoint, tmp_path, entries, tensors):
    place = copied(checkpoint, tmp_path / "a", entries, tensors)
    want = theirs(place)
    np.testing.assert_allclose(ours(place), want, rtol=0, atol=1e-3)
    weights, config = llama.load(place)
    pruned, _ = llama.prune(weights, TOKENS, config, attention="magnitude", ratio=0.0)
    llama.save(tmp_path / "b", pruned, config, like=place)
    np.testing.assert_allclose(theirs(tmp_path / "b"), want, rtol=0, atol=1e-3)


PREFIXES = (
    "module.",
    "_orig_mod.",
    "module._orig_mod.",
    "base_model.model.",
    "language_model.",
    "transformer.",
    "llm.",
)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_wrappers_before_the_names_change_nothing(checkpoint, tmp_path, prefix):
    """transformers would draw new weights for these; the logits are those of the plain names."""
    place = copied(checkpoint, tmp_path / "a", {}, renamed("", prefix))
    np.testing.assert_array_equal(ours(place), ours(checkpoint))


def test_a_body_with_another_prefix_than_the_head(checkpoint, tmp_path):
    for i, prefix in enumerate(("model.language_model.", "transformer.", "")):
        place = copied(checkpoint, tmp_path / str(i), {}, renamed("model.", prefix))
        np.testing.assert_array_equal(ours(place), ours(checkpoint))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (without(HEAD), "lm_head.weight: no file of the checkpoint has this weight, and tie_word"),
        (without(EMBEDDING), "embed_tokens.weight: no file"),
        (
            added("model.layers.0.self_attn.q_proj.bias"),
            "q_proj.bias, which model_type = 'llama' without",
        ),
        (added("model.layers.1.self_attn.q_norm.weight"), "q_norm.weight, which"),
        (added("model.layers.1.mlp.up_proj.lora_A.weight"), "lora_A.weight, which"),
        (added("model.layers.2.input_layernorm.weight"), "the files hold 3 layers"),
        (typed(torch.float8_e4m3fn), "has the type F8_E4M3"),
        (typed(torch.int8), "has the type I8"),
        (
            lambda t: t | {f"draft.{name}": value.clone() for name, value in t.items()},
            "the layers of several models",
        ),
    ],
)
def test_tensors_that_the_model_would_not_use_are_refused(checkpoint, tmp_path, tensors, message):
    with pytest.raises(InputError) as refused:
        ours(copied(checkpoint, tmp_path / "a", {}, tensors))
    assert message in str(refused.value) and "\n" not in str(refused.value)
