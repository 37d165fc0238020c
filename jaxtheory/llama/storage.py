"""Bytes of a model's weights in formats that profit from zeros."""

import zlib

import numpy as np

from jaxtheory.llama import checkpoint
from jaxtheory.llama.config import Config
from jaxtheory.llama.model import Weights


def stored_bytes(weights: Weights, config: Config) -> dict[str, int]:
    """Return the bytes of all weights in three formats, without names and headers.

    For an array of n entries of b bytes, of which k are not zero:

        full      b n, as in a safetensors file
        bit_mask  min(b n, b k + ceil(n / 8)): one bit per entry, and the entries that are not zero
        zlib      length of zlib's output at level 6 for the b n bytes of the file

    The 2:4 format of GPUs, b n / 2 and two bits for each kept entry, has as many bytes as the bit
    mask.

    Args:
        weights: The weights.
        config: The config.

    Returns:
        The bytes by format: full, bit_mask, zlib.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=4, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> llama.stored_bytes(llama.init(jax.random.key(0), config), config)["full"]
        688
    """
    total = {"full": 0, "bit_mask": 0, "zlib": 0}
    for _, array in checkpoint.file_arrays(weights, config):
        nonzero_bytes = int(np.count_nonzero(array)) * array.itemsize
        total["full"] += array.nbytes
        total["bit_mask"] += min(array.nbytes, nonzero_bytes + -(-array.size // 8))
        total["zlib"] += len(zlib.compress(array.reshape(-1).view(np.uint8).data, 6))
    return total
