"""Logits and checkpoints against transformers."""

import numpy as np
import pytest

from jaxtheory import llama

from .models import TEXT

torch = pytest.importorskip("torch", reason="the oracle: make oracle")
transformers = pytest.importorskip("transformers", reason="the oracle: make oracle")

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
SHAPES = {
    "multi-head": {"num_attention_heads": 4, "num_key_value_heads": 4},
    "grouped-query": {"num_attention_heads": 8, "num_key_value_heads": 2},
    "llama3 scaling": {
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rope_parameters": LLAMA3,
    },
    "tied embedding": {
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 24,
        "tie_word_embeddings": True,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_and_checkpoints_agree_with_transformers(tmp_path, shape):
    torch.manual_seed(len(shape))
    config = transformers.LlamaConfig(
        vocab_size=97,
        hidden_size=64,
        intermediate_size=112,
        num_hidden_layers=3,
        initializer_range=0.2,
        max_position_embeddings=256,
        **SHAPES[shape],
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    text = np.random.default_rng(0).integers(0, 97, (3, 80))
    want = theirs(torch.tensor(text)).logits.detach().numpy()
    weights, read = llama.load(tmp_path / "theirs")
    got = np.asarray(llama.logits(weights, text, read))
    assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
    loss = torch.nn.functional.cross_entropy(
        torch.tensor(want)[:, :-1].reshape(-1, 97), torch.tensor(text)[:, 1:].reshape(-1)
    )
    assert llama.perplexity(weights, text, read) == pytest.approx(np.exp(loss.item()), rel=1e-4)

    for name, config in (("as read", read), ("ours", make_anew(read))):
        llama.save(tmp_path / name, weights, config)
        back = transformers.LlamaForCausalLM.from_pretrained(tmp_path / name).eval()
        logits = back(torch.tensor(text)).logits.detach().numpy()
        np.testing.assert_allclose(logits, want, atol=1e-5 * np.abs(want).max())


def make_anew(config):
    """The same model without the config.json it came from."""
    import dataclasses

    return dataclasses.replace(config, source="{}")


def test_a_pruned_checkpoint_loads_in_transformers(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
    )
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "dense")
    weights, read = llama.load(tmp_path / "dense")
    text = np.random.default_rng(1).integers(0, 50, (4, 16))
    pruned, _ = llama.prune(weights, text, read, attention="sparsegpt", mlp="wanda", ratio=0.5)
    llama.save(tmp_path / "pruned", pruned, read)
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "pruned").eval()
    query = theirs.model.layers[0].self_attn.q_proj.weight
    assert int((query == 0).sum()) == query.numel() // 2
    want = theirs(torch.tensor(text)).logits.detach().numpy()
    got = np.asarray(llama.logits(pruned, text, read))
    assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


def test_the_command_on_a_folder_made_by_transformers(tmp_path):
    """Model and tokenizer saved by transformers, pruned by the command, loaded by transformers."""
    import string

    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    from jaxtheory.cli import main

    characters = Tokenizer(models.WordLevel({c: i for i, c in enumerate(string.printable)}, "?"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=characters)
    config = transformers.LlamaConfig(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
    )
    dense, pruned, text = (tmp_path / name for name in ("dense", "pruned", "text"))
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(dense)
    tokenizer.save_pretrained(dense)
    text.write_text(TEXT)
    words = f"prune {dense} --to {pruned} --text {text} --ratio .6 --mlp sparsegpt --window 32"
    assert main.main([*words.split(), "--evaluate", "4", "--samples", "2"]) == 0
    model = transformers.AutoModelForCausalLM.from_pretrained(pruned).eval()
    ids = transformers.AutoTokenizer.from_pretrained(pruned)(TEXT[:40])["input_ids"]
    assert len(ids) == 40
    ours, read = llama.load(pruned)
    got = np.asarray(llama.logits(ours, np.asarray([ids]), read))
    want = model(torch.tensor([ids])).logits.detach().numpy()
    assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
    query = model.model.layers[1].self_attn.q_proj.weight
    assert int((query == 0).sum()) == int(0.6 * query.numel())


@pytest.mark.parametrize("shape", [(300, 40, 200), (128, 64, 500)])
def test_pruners_are_the_published_algorithms(shape):
    """In float64, fewer rows than inputs and more: the same masks, weights to rounding."""
    import jax.numpy as jnp
    from benchmarks.llama_pruning import RATIO, torch_sparsegpt, torch_wanda

    from jaxtheory.theories.attention_pruning.analyses import linear

    inputs, outputs, rows = shape
    rng = np.random.default_rng(inputs)
    W, X = rng.normal(size=(inputs, outputs)), rng.normal(size=(rows, inputs))
    X[:, 3] = 0
    rule, valid = linear.Rule(RATIO), jnp.ones(W.shape, bool)
    theirs = torch_sparsegpt(torch.tensor(W.T), torch.tensor(X)).numpy().T
    ours = np.asarray(linear.sparsegpt(W, X.T @ X, rule, valid))
    np.testing.assert_array_equal(ours == 0, theirs == 0)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    theirs = torch_wanda(torch.tensor(W.T), torch.tensor(X)).numpy().T
    np.testing.assert_array_equal(linear.wanda(W, np.sum(X**2, axis=0), rule, valid), theirs)
