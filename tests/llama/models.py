"""Small models and folders for the tests of jaxtheory.llama."""

import string

import jax
import numpy as np

from jaxtheory import llama

TEXT = "\n".join(f"the {i}th line of a text says that {i} plus {i} is {2 * i}." for i in range(400))


def make(heads=4, groups=2, layers=2, width=16, **fields):
    """A random model with weights large enough for attention that is not uniform."""
    config = llama.Config(
        vocab_size=len(string.printable),
        hidden_size=width,
        intermediate_size=24,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=4,
        **fields,
    )
    return llama.init(jax.random.key(3), config, 0.4), config


def tokens(config, sequences=4, length=12, seed=0):
    return np.random.default_rng(seed).integers(0, config.vocab_size, (sequences, length))


def folder(place, **fields):
    """A checkpoint with a tokenizer of characters."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    weights, config = make(**fields)
    llama.save(place, weights, config)
    vocabulary = {character: i for i, character in enumerate(string.printable)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.save(str(place / "tokenizer.json"))
    return place
