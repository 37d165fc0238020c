"""Folders, tokenizers and texts that were damaged or made to harm: one line, nothing written."""

import base64
import json
import os
import struct
import sys

import jax
import numpy as np
import pytest

from jaxtheory import InputError, llama
from jaxtheory.cli import main
from jaxtheory.llama import text as texts

from .models import TEXT, folder, make, tokens


@pytest.fixture
def place(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    folder(tmp_path / "dense")
    return tmp_path


def prune(place, *words):
    argv = ["prune", place / "dense", "--to", place / "out", "--text", place / "text.txt"]
    argv += ["--attention", "magnitude", "--window", "16", "--evaluate", "2", *words]
    return main.main(list(map(str, argv)))


def entries(**changes):
    def change(dense):
        path = dense / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def overwrite(name, content):
    return lambda dense: (dense / name).write_bytes(content)


def pipe(name):
    def change(dense):
        (dense / name).unlink()
        os.mkfifo(dense / name)

    return change


def declared(shape, size):
    """A safetensors file whose embedding declares a shape, and which is as long as that needs
    (a hole, no data), or only a header.
    """

    def change(dense):
        count = int(np.prod(shape)) * 4
        header = {
            "model.embed_tokens.weight": {
                "dtype": "F32",
                "shape": shape,
                "data_offsets": [0, count],
            }
        }
        packed = json.dumps(header).encode()
        with (dense / "model.safetensors").open("wb") as file:
            file.write(struct.pack("<Q", len(packed)) + packed)
            if size:
                file.truncate(8 + len(packed) + count)

    return change


def index(content):
    def change(dense):
        (dense / "model.safetensors").unlink()
        (dense / "model.safetensors.index.json").write_text(content)

    return change


def one_entry(name, text):
    """An entry as a text of its own, which need not be JSON."""

    def change(dense):
        path = dense / "config.json"
        other_entries = {k: v for k, v in json.loads(path.read_text()).items() if k != name}
        path.write_text(f'{{"{name}": {text}, {json.dumps(other_entries)[1:]}')

    return change


DEEP = 10**5
DAMAGES = {
    "ten million layers": (entries(num_hidden_layers=10**7), "num_hidden_layers = 10000000"),
    "more layers than integers": (entries(num_hidden_layers=10**30), "num_hidden_layers = 1000"),
    "a vocabulary of 10^9": (entries(vocab_size=10**9), "embed_tokens.weight: has the shape"),
    "a size of 5000 digits": (one_entry("hidden_size", "9" * 5000), "config.json: is not JSON"),
    "eps NaN": (one_entry("rms_norm_eps", "NaN"), "rms_norm_eps = nan"),
    "eps infinite": (one_entry("rms_norm_eps", "Infinity"), "rms_norm_eps = inf"),
    "eps negative": (entries(rms_norm_eps=-1e-5), "rms_norm_eps = -1e-05"),
    "eps an enormous integer": (entries(rms_norm_eps=10**400), "rms_norm_eps = 1000"),
    "theta NaN": (one_entry("rope_theta", "NaN"), "rope_theta = nan"),
    "theta an enormous integer": (entries(rope_theta=10**400), "rope_theta = 1000"),
    "a size that is a list": (entries(vocab_size=[1, 2]), "vocab_size = [1, 2]"),
    "a size that is true": (entries(num_attention_heads=True), "num_attention_heads = True"),
    "a size that is null": (entries(hidden_size=None), "hidden_size = None"),
    "a model_type that is an object": (entries(model_type={}), "model_type = {}"),
    "a long text of lines": (entries(hidden_act="a\n" * 10**5), "hidden_act = 'a\\n"),
    "a key twice": (one_entry("hidden_size", '16, "hidden_size": 17'), "names 'hidden_size' twice"),
    "config.json deep": (overwrite("config.json", b'{"a":' * DEEP), "nested too deeply"),
    "config.json in UTF-16": (
        lambda dense: (dense / "config.json").write_text("{}", encoding="utf-16"),
        "config.json: is not UTF-8",
    ),
    "config.json empty": (overwrite("config.json", b""), "is not JSON"),
    "config.json a pipe": (pipe("config.json"), "config.json: is not a regular file"),
    "config.json a folder": (
        lambda dense: ((dense / "config.json").unlink(), (dense / "config.json").mkdir()),
        "config.json: is not a regular file",
    ),
    "config.json of a gigabyte": (
        lambda dense: os.truncate(dense / "config.json", 2**30),
        "config.json: has 1073741824 bytes",
    ),
    "weights a pipe": (pipe("model.safetensors"), "model.safetensors: is not a regular file"),
    "weights empty": (overwrite("model.safetensors", b""), "not a safetensors file"),
    "a header of 2^63": (overwrite("model.safetensors", b"\xff" * 64), "not a safetensors file"),
    "40 GiB declared": (declared([10485760, 1024], False), "not a safetensors file"),
    "index deep": (index('{"weight_map":' * DEEP), "nested too deeply"),
    "index leaves the folder": (index('{"weight_map": {"a": "../b.safetensors"}}'), "'../b.saf"),
    "index names a number": (
        index('{"weight_map": {"a": 3}}'),
        "not an index of safetensors files",
    ),
    "index names no file": (index('{"weight_map": {"a": "a\\u0000b"}}'), "cannot be read"),
    "tokenizer a pipe": (pipe("tokenizer.json"), "tokenizer.json: is not a regular file"),
    "tokenizer deep": (overwrite("tokenizer.json", b'{"a":' * DEEP), "cannot process this text"),
    "tokenizer not UTF-8": (overwrite("tokenizer.json", b"\xff\xfe"), "cannot process this text"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_one_line_and_nothing_is_written(place, capfd, damage, message):
    damage(place / "dense")
    assert prune(place) == 2
    streams = capfd.readouterr()
    assert message in streams.err and streams.err.count("\n") == 1 and len(streams.err) < 600
    assert sorted(path.name for path in place.iterdir()) == ["dense", "text.txt"]


def test_an_array_larger_than_memory_is_refused_before_it_is_read(place, monkeypatch):
    """40 GiB that config and file agree on, in a file that is a hole."""
    from jaxtheory.system import machine

    monkeypatch.setattr(machine, "memory", lambda: 2**30)
    weights, config = make(tie_word_embeddings=True)
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    llama.save(place / "big", weights, config)
    path = place / "big" / "model.safetensors"
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    end = max(v["data_offsets"][1] for k, v in header.items() if k != "__metadata__")
    count = 671088640 * 16 * 4
    header["model.embed_tokens.weight"] = {
        "dtype": "F32",
        "shape": [671088640, 16],
        "data_offsets": [end, end + count],
    }
    header["model.layers.0.self_attn.rotary_emb.inv_freq"] = {
        "dtype": "F32",
        "shape": [100, 16],
        "data_offsets": json.loads(raw[8 : 8 + size])["model.embed_tokens.weight"]["data_offsets"],
    }
    packed = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(packed)) + packed + raw[8 + size :])
        file.truncate(8 + len(packed) + end + count)
    entries(vocab_size=671088640)(place / "big")
    with pytest.raises(InputError, match=r"the weights take 40\.0 GiB, this machine has 1\.0 GiB"):
        llama.load(place / "big")


TOKENIZERS = {
    "a normalizer without data": {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}
    },
    "a normalizer of another format": {
        "normalizer": {
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(b"\xff" * 8).decode(),
        }
    },
    "an expression that tries everything": {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "(.+)+\\1$"},
            "behavior": "Isolated",
            "invert": False,
        }
    },
    "a normalizer that makes 27 GB of each letter": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": "t"}, "content": "t" * 3000},
                {"type": "Replace", "pattern": {"String": "t"}, "content": "t" * 3000},
                {"type": "Replace", "pattern": {"String": "t"}, "content": "t" * 3000},
            ],
        }
    },
}


@pytest.mark.parametrize("changes", TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_tokenizer_that_panics_or_explodes_is_one_line(place, capfd, monkeypatch, changes):
    monkeypatch.setattr(llama.tokenizer, "_MEMORY", (2**29, 0))
    path = place / "dense" / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    assert prune(place) == 2
    streams = capfd.readouterr()
    assert "tokenizer.json: " in streams.err and streams.err.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == ["dense", "text.txt"]


@pytest.mark.parametrize("changes", [None, "truncation", "padding", "huge padding", "stride"])
def test_truncation_and_padding_that_were_saved_are_switched_off(place, changes):
    from tokenizers import Tokenizer

    path = place / "dense" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    want = tokenizer.encode(TEXT, add_special_tokens=False).ids
    if changes == "truncation":
        tokenizer.enable_truncation(64)
    if changes == "stride":
        tokenizer.enable_truncation(64, stride=63)
    if changes in ("padding", "huge padding"):
        tokenizer.enable_padding(length=10**5 if changes == "padding" else 10**12, pad_token="!")
    tokenizer.save(str(path))
    ids = texts.encode(TEXT, place / "dense")
    assert ids.dtype == np.int32 and ids.tolist() == want and len(want) > 10_000


def test_merges_that_were_trained_at_random_are_not_evaluated_at_random(place):
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"a": 0, "b": 1, "ab": 2}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "b")], dropout=0.5))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # each word merges or not
    tokenizer.save(str(place / "dense" / "tokenizer.json"))
    assert texts.encode("ab " * 100, place / "dense").tolist() == [2] * 100


def test_a_text_is_read_as_its_bytes_are(place):
    """Line ends, a byte order mark and special tokens are tokenized as transformers would."""
    for content in (b"a\r\nb\r\n", b"a\rb", b"\xef\xbb\xbfa\n", "é\u2028\x85x".encode()):
        (place / "t.txt").write_bytes(content)
        assert texts.read_corpus(place / "t.txt").encode() == content
    (place / "t.txt").write_bytes(b"a\r\n")
    assert texts.encode(texts.read_corpus(place / "t.txt"), place / "dense").tolist() == [
        10,
        97,
        96,
    ]


def test_a_text_that_is_a_pipe_is_refused(place, capfd):
    os.mkfifo(place / "pipe")
    assert prune(place, "--text", place / "pipe") == 2
    assert "pipe: is not a regular file" in capfd.readouterr().err
    (place / "pipe").unlink()


@pytest.mark.parametrize("make_target", ["here", "link", "dangling", "beneath a file", "long"])
def test_where_nothing_can_be_written_is_said_before_the_work(
    place, capfd, monkeypatch, make_target
):
    monkeypatch.chdir(place)
    monkeypatch.setattr(llama.pruning, "prune", lambda *_, **__: pytest.fail("work was begun"))
    (place / "empty").mkdir()
    to = {
        "here": ".",
        "link": "link",
        "dangling": "nowhere",
        "beneath a file": "text.txt/out",
        "long": "n" * 250,
    }[make_target]
    (place / "link").symlink_to(place / "empty")
    (place / "nowhere").symlink_to(place / "missing")
    before = sorted(place.iterdir())
    assert prune(place, "--to", to) == 2
    streams = capfd.readouterr()
    assert streams.err.count("\n") == 1 and to in streams.err and not streams.out
    assert sorted(place.iterdir()) == before


def test_an_empty_folder_here_is_refused_too(place, capfd, monkeypatch):
    (place / "empty").mkdir()
    monkeypatch.chdir(place / "empty")
    assert prune(place, "--to", ".") == 2
    assert "choose a new folder" in capfd.readouterr().err


@pytest.mark.parametrize("words", [("--key", "-1"), ("--key", 2**32), ("--samples", 10**9)])
def test_numbers_out_of_range_are_refused(place, capfd, words):
    assert prune(place, *words) == 2
    message = capfd.readouterr().err
    assert f"{words[0][2:]} = {words[1]}" in message and message.count("\n") == 1


OLD = (
    "consolidated.00.pth",
    "model.gguf",
    "flax_model.msgpack",
    "tf_model.h5",
    "optimizer.pt",
    "scheduler.pt",
    "training_args.bin",
    "rng_state.pth",
    "trainer_state.json",
    "adapter_model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "model.safetensors.index.json",
    "model.onnx",
    "model.fp16.safetensors",
    "quantize_config.json",
    "README.md",
)
KEPT = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "chat_template.json",
    "LICENSE",
    "LICENSE.txt",
    "USE_POLICY.md",
    "additional_chat_templates/tool.jinja",
)


def test_only_what_belongs_to_the_pruned_model_is_copied(tmp_path):
    weights, config = make()
    dense, out = tmp_path / "dense", tmp_path / "out"
    llama.save(dense, weights, config)
    (dense / "additional_chat_templates").mkdir()
    for name in (*OLD, *KEPT):
        (dense / name).write_bytes(b"{}")
    os.mkfifo(dense / "vocab.txt")
    weights, config = llama.load(dense)
    llama.save(out, weights, config, like=dense)
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert files == {"config.json", "model.safetensors", *KEPT}


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "consolidated.00.pth", "model.gguf", "adapter_model.safetensors"]
)
def test_weights_in_another_format_are_named_with_a_way_out(tmp_path, name):
    llama.save(tmp_path / "a", *make())
    (tmp_path / "a" / "model.safetensors").rename(tmp_path / "a" / name)
    with pytest.raises(InputError) as refused:
        llama.load(tmp_path / "a")
    assert f"{name} cannot be read: convert" in str(refused.value)


def test_kept_layers_of_another_config_or_damaged_are_not_taken(tmp_path):
    """The same weights under another epsilon are another model; a damaged layer is made anew."""
    from dataclasses import replace

    weights, config = make()
    options = {"attention": "magnitude", "mlp": "wanda", "keep": tmp_path / "kept"}
    text = tokens(config)
    want, _ = llama.prune(weights, text, config, **options)
    variant, _ = llama.prune(weights, text, replace(config, rms_norm_eps=10.0), **options)
    reference, _ = llama.prune(
        weights, text, replace(config, rms_norm_eps=10.0), **options | {"keep": None}
    )
    for a, b in zip(jax.tree.leaves(variant), jax.tree.leaves(reference), strict=True):
        np.testing.assert_array_equal(a, b)
    from safetensors.numpy import save_file

    for path in (tmp_path / "kept").rglob("*.safetensors"):
        save_file({"query": np.zeros((2, 2), np.float32)}, path, metadata={"seconds": "long"})
    again, _ = llama.prune(weights, text, config, **options)
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_config_that_was_changed_is_what_is_written(tmp_path):
    """Fewer layers, another epsilon or rotation than the config.json that was read."""
    from dataclasses import replace

    llama.save(tmp_path / "a", *make())
    entries(original_max_position_embeddings=5, eos_token_id=7)(tmp_path / "a")
    weights, config = llama.load(tmp_path / "a")
    rope = llama.Rope(500.0, "llama3", 8.0, 1.0, 4.0, 16)
    changed = replace(config, num_hidden_layers=1, rms_norm_eps=0.5, rope=rope)
    llama.save(tmp_path / "b", weights.replace(layers=weights.layers[:1]), changed)
    copy = llama.load(tmp_path / "b")[1]
    assert replace(copy, source="{}") == replace(changed, source="{}")
    assert json.loads(copy.source)["eos_token_id"] == 7


def test_names_that_are_not_ascii(tmp_path, place):
    """A folder, a text and a checkpoint under names of any letters."""
    (place / "dense").rename(place / "dénse-模型")
    (place / "text.txt").rename(place / "テキスト.txt")
    argv = ["prune", place / "dénse-模型", "--to", place / "aus–gabe"]
    argv += ["--text", place / "テキスト.txt", "--attention", "magnitude", "--window", "16"]
    assert sys.getfilesystemencoding() == "utf-8"
    assert main.main(list(map(str, [*argv, "--evaluate", "2"]))) == 0
    assert llama.load(place / "aus–gabe")[1].vocab_size == 100
