"""The pruning calculus of `attention_pruning` on checkpoints of Llama, Mistral, Qwen2 and Qwen3.

Example:
    >>> from jaxtheory import llama
    >>> weights, config = llama.load("FOLDER")  # doctest: +SKIP
    >>> pruned, report = llama.prune(weights, tokens, config, ratio=0.5)  # doctest: +SKIP
    >>> llama.save("NEW", pruned, config, like="FOLDER")  # doctest: +SKIP
"""

from jaxtheory.llama.checkpoint import cached, load, save
from jaxtheory.llama.config import Config
from jaxtheory.llama.layers import Gradient
from jaxtheory.llama.masks import Fit
from jaxtheory.llama.model import Layer, Weights, init, logits, loss, perplexity
from jaxtheory.llama.pruning import prune
from jaxtheory.llama.rope import Rope
from jaxtheory.llama.storage import stored_bytes

__all__ = [
    "Config",
    "Fit",
    "Gradient",
    "Layer",
    "Rope",
    "Weights",
    "cached",
    "init",
    "load",
    "logits",
    "loss",
    "perplexity",
    "prune",
    "save",
    "stored_bytes",
]


def __dir__() -> list[str]:
    return sorted(__all__)
