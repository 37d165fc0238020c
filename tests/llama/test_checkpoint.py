"""Folders: what is written is read, what is broken is named, a kill leaves nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError, llama

from .models import make


def equal(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("tied", [True, False])
def test_saved_is_loaded(tmp_path, dtype, tied):
    rope = llama.Rope(500000.0, "llama3", 8.0, 1.0, 4.0, 32)
    weights, config = make(tie_word_embeddings=tied, rope=rope)
    weights = jax.tree.map(lambda a: a.astype(dtype), weights)
    llama.save(tmp_path / "a", weights, config)
    copy, read = llama.load(tmp_path / "a")
    equal(copy, weights)
    assert (read.rope, read.num_key_value_heads) == (rope, 2)
    llama.save(tmp_path / "b", copy, read)
    assert llama.load(tmp_path / "b")[1].rope == rope
    assert llama.load(tmp_path / "b", "float32")[0].norm.dtype == jnp.float32


def test_other_entries_and_files_travel(tmp_path):
    weights, config = make()
    llama.save(tmp_path / "a", weights, config)
    path = tmp_path / "a" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": 7}))
    (tmp_path / "a" / "tokenizer.json").write_text("{}")
    weights, config = llama.load(tmp_path / "a")
    llama.save(tmp_path / "b", weights, config, like=tmp_path / "a")
    assert json.loads((tmp_path / "b" / "config.json").read_text())["eos_token_id"] == 7
    assert (tmp_path / "b" / "tokenizer.json").read_text() == "{}"


def test_shards_with_an_index(tmp_path):
    from safetensors.numpy import load_file, save_file

    weights, config = make()
    llama.save(tmp_path / "a", weights, config)
    arrays = load_file(tmp_path / "a" / "model.safetensors")
    (tmp_path / "a" / "model.safetensors").unlink()
    index = {}
    for part, names in enumerate((sorted(arrays)[::2], sorted(arrays)[1::2])):
        file = f"model-{part + 1:05d}-of-00002.safetensors"
        save_file({name: arrays[name] for name in names}, tmp_path / "a" / file)
        index |= dict.fromkeys(names, file)
    place = tmp_path / "a" / "model.safetensors.index.json"
    place.write_text(json.dumps({"metadata": {}, "weight_map": index}))
    equal(llama.load(tmp_path / "a")[0], weights)
    (tmp_path / "a" / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        llama.load(tmp_path / "a")
    place.write_text("[]")
    with pytest.raises(InputError, match="not an index"):
        llama.load(tmp_path / "a")


def entries(**changes):
    def change(place):
        path = place / "config.json"
        known = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({k: v for k, v in known.items() if v is not None}))

    return change


def truncated(place):
    path = place / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def integers(place):
    from safetensors.numpy import load_file, save_file

    path = place / "model.safetensors"
    arrays = load_file(path)
    arrays["model.norm.weight"] = arrays["model.norm.weight"].astype(np.int32)
    save_file(arrays, path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda place: (place / "config.json").unlink(), "config.json: cannot be read"),
        (lambda place: (place / "config.json").write_text("{"), "is not JSON"),
        (lambda place: (place / "config.json").write_text("[]"), "must be a JSON object"),
        (lambda place: (place / "model.safetensors").unlink(), "model.safetensors: cannot be"),
        (truncated, "truncated"),
        (integers, "model.norm.weight: has the type I32"),
        (entries(model_type="mixtral"), "model_type = 'mixtral' is not supported"),
        (entries(model_type=None), "no model_type"),
        (entries(attention_bias=True), "attention_bias = True is not supported"),
        (entries(hidden_act="gelu"), "hidden_act = 'gelu'"),
        (entries(rope_scaling={"rope_type": "yarn"}), "rope_type = 'yarn'"),
        (entries(num_key_value_heads=3), "must be a multiple"),
        (entries(head_dim=3), "head_dim = 3: must be even"),
        (entries(head_dim=None, num_attention_heads=3), "must be a multiple"),
        (entries(hidden_size=None), "has no hidden_size"),
        (entries(hidden_size="wide"), "hidden_size"),
        (entries(intermediate_size=25), "gate_proj.weight: has the shape"),
        (entries(num_hidden_layers=3), "model.layers.2.input_layernorm.weight: no file"),
    ],
)
def test_what_is_broken_is_named_in_one_line(tmp_path, damage, message):
    weights, config = make()
    place = tmp_path / "a"
    llama.save(place, weights, config)
    damage(place)
    with pytest.raises(InputError) as refused:
        llama.load(place)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_folder_in_use_is_not_written_to(tmp_path):
    weights, config = make()
    (tmp_path / "a").mkdir()
    llama.save(tmp_path / "a", weights, config)  # empty: taken
    with pytest.raises(InputError, match="not empty"):
        llama.save(tmp_path / "a", weights, config)
    with pytest.raises(InputError, match="no such folder"):
        llama.load(tmp_path / "b")
    with pytest.raises(InputError, match="dtype"):
        llama.load(tmp_path / "a", "int8")


def test_a_kill_leaves_no_folder(tmp_path):
    """Killed at the moment when the weights are on disk, before the folder has its name."""
    code = f"""
        import os, signal, sys
        sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})
        import pathlib
        from jaxtheory import llama
        from llama.models import make
        pathlib.Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        weights, config = make()
        llama.save({str(tmp_path / "a")!r}, weights, config)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "a").exists() and any(tmp_path.iterdir())


def test_of_several_processes_one_makes_the_checkpoint(tmp_path):
    code = f"""
        import os, pathlib, sys, time
        sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})
        from jaxtheory import llama
        from llama.models import make
        place = pathlib.Path({str(tmp_path)!r})
        def slowly():
            (place / f"made-{{os.getpid()}}").touch()
            time.sleep(1)
            return make()
        (place / f"begun-{{os.getpid()}}").touch()
        while len([*place.glob("begun-*")]) < 3:
            time.sleep(0.01)
        llama.cached(place / "a", slowly)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(100) for process in running] == [0, 0, 0]
    assert len([*tmp_path.glob("made-*")]) == 1
    weights, config = make()
    checkpoint = llama.cached(tmp_path / "a", lambda: pytest.fail("made again"))
    assert checkpoint[1].vocab_size == config.vocab_size
    assert not [*tmp_path.glob("*.lock")]
    np.testing.assert_array_equal(checkpoint[0].embedding, weights.embedding)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        llama.cached(tmp_path / "file" / "b", make)


def adapter(place):
    (place / "adapter_config.json").write_text('{"peft_type": "LORA"}')


def distributed(place):
    path = place / "shard-00000-model-00001-of-00001.safetensors"
    path.write_bytes((place / "model.safetensors").read_bytes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (adapter, "adapter_config.json: transformers adds this adapter to the weights"),
        (lambda place: (adapter(place), (place / "config.json").unlink()), "merge_and_unload"),
        (distributed, "of-00001.safetensors: distributed checkpoints are not read; convert"),
        (entries(is_causal=False), "is_causal = False is not supported"),
        (entries(transformers_weights="other.safetensors"), "transformers_weights = 'other.safe"),
        (entries(configuration_files=["config.4.0.0.json"]), "configuration_files = ['config.4"),
        (entries(auto_map={"AutoModelForCausalLM": "a.B"}), "auto_map = {'AutoModelForCausalLM'"),
        (entries(attribute_map={"rms_norm_eps": "x"}), "attribute_map = {'rms_norm_eps': 'x'}"),
        (entries(text_config={"hidden_size": 4}), "text_config = {'hidden_size': 4}"),
        (entries(decoder={"hidden_size": 4}), "decoder = {'hidden_size': 4}"),
        (entries(kv_sharing_modes=["reuse"]), "kv_sharing_modes = ['reuse']"),
        (entries(fusion_config={"a": True}), "fusion_config = {'a': True}"),
        (entries(max_position_embeddings="32"), "max_position_embeddings = '32': must be a pos"),
        (entries(max_position_embeddings=0), "max_position_embeddings = 0: must be a positive"),
        (entries(max_position_embeddings=True), "max_position_embeddings = True: must be a pos"),
    ],
)
def test_what_transformers_would_read_otherwise_is_refused(tmp_path, change, message):
    place = tmp_path / "a"
    llama.save(place, *make())
    change(place)
    with pytest.raises(InputError) as refused:
        llama.load(place)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_mask_that_is_null_is_not_causal(tmp_path):
    """A null is_causal is no mask in some implementations of transformers."""
    llama.save(tmp_path / "a", *make())
    path = tmp_path / "a" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"is_causal": None}))
    with pytest.raises(InputError, match="is_causal = None is not supported, only True is"):
        llama.load(tmp_path / "a")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"is_causal": True}))
    llama.load(tmp_path / "a")


@pytest.mark.parametrize("given", ["", "hub", "hub/models--a--b", "hub/models--a--b/snapshots"])
def test_a_folder_of_the_cache_names_the_checkpoint_in_it(tmp_path, given):
    """The hub's cache: files are links to blobs in a folder that is named by the revision."""
    model = tmp_path / "cache" / "hub" / "models--a--b"
    snapshot = model / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    weights, config = make()
    llama.save(model / "blobs", weights, config)
    for file in (model / "blobs").iterdir():
        file.rename(blob := file.with_name(f"{len(file.name)}"))
        (snapshot / file.name).symlink_to(f"../../blobs/{blob.name}")
    with pytest.raises(InputError) as refused:
        llama.load(tmp_path / "cache" / given)
    assert f"choose a checkpoint in this folder, such as {snapshot} (1 found)" in str(refused.value)
    equal(llama.load(snapshot)[0], weights)
    llama.save(tmp_path / "b", *llama.load(snapshot), like=snapshot)
    assert not any(path.is_symlink() for path in (tmp_path / "b").iterdir())
