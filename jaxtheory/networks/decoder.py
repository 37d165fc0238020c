"""A standard decoder-only Transformer as one Flax module.

With x_0 = embedding + positions (B, L, width), each of `depth` layers is

    pre-layernorm, rmsnorm    x <- x + attention(norm(x)),  x <- x + mlp(norm(x)), at last norm(x)
    post-layernorm            x <- norm(x + attention(x)),  x <- norm(x + mlp(x))
    none                      x <- x + attention(x),        x <- x + mlp(x)

and without the residual stream the sums lose their first term. Attention is

    softmax(q k^T / sqrt(width / heads)) v, for each head,

over the positions up to that of the query if it is causal, or without softmax, where the products
are divided by the number of these positions. The weights are initialized as Flax does.
"""

from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxtheory.networks.attention import attend
from jaxtheory.texts.errors import InputError

BASE = 10_000.0  # ratio of the largest to the smallest wavelength of positions


def angles(length: int, frequencies: int) -> jax.Array:
    """Return j BASE^(-i / n) (length, n) at position j and frequency i of n."""
    i = jnp.arange(frequencies, dtype=float)
    return jnp.arange(length, dtype=float)[:, None] * BASE ** (-i / frequencies)[None, :]


def sinusoidal(length: int, width: int) -> jax.Array:
    """Return the sines of `angles`, then their cosines, (length, width)."""
    angle = angles(length, -(-width // 2))
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=1)[:, :width]


def rotated(x: jax.Array) -> jax.Array:
    """Rotate the pairs (x_i, x_{i + d/2}) of (B, L, heads, d) by `angles`."""
    angle = angles(x.shape[1], x.shape[3] // 2)[None, :, None, :]
    x1, x2 = jnp.split(x, 2, axis=3)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], axis=3)


class Attention(nn.Module):
    """Attention of several heads, whose maps (B, heads, query, key) are sown as "attention"."""

    heads: int
    rotary: bool
    causal: bool
    softmax: bool

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        B, L, width = x.shape
        split = lambda name: nn.Dense(width, name=name)(x).reshape(B, L, self.heads, -1)
        q, k, v = split("query"), split("key"), split("value")
        if self.rotary:
            q, k = rotated(q), rotated(k)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // self.heads) ** 0.5
        mask = jnp.ones((L, L), bool)
        mask = jnp.tril(mask)[None, None] if self.causal else mask[None, None]
        if self.softmax:
            maps = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        else:
            maps = jnp.where(mask, scores, 0) / jnp.sum(mask, axis=-1, keepdims=True)
        return nn.Dense(width, name="out")(attend(self, maps, v).reshape(B, L, width))


class Transformer(nn.Module):
    """A decoder-only Transformer on token ids (B, L) or vectors (B, L, d).

    Attributes:
        outputs: The number of outputs at each position.
        vocabulary: The number of token ids, or None for vectors.
        depth: The number of layers.
        heads: The number of heads of each layer, a divisor of width.
        width: The length of the residual stream.
        mlp: The activation of the MLP, "relu" or "gelu", or "none" for layers without one.
        mlp_ratio: The hidden units of the MLP, divided by width.
        norm: "pre-layernorm", "post-layernorm", "rmsnorm" (before each part) or "none".
        positions: "learned", "sinusoidal", "rotary" or "none".
        softmax: True for softmax attention, False for linear attention.
        residual: True if each part is added to its input.
        tied: True if the output weights are those of the embedding.
        causal: True if a position attends to itself and the positions before it only.

    Raises:
        InputError: When it is called: width is not divisible by heads, rotary positions have an odd
            width per head, or tied weights do not fit.

    Example:
        >>> import jaxtheory
        >>> network = jaxtheory.networks.Transformer(outputs=5, vocabulary=5, depth=1, width=8)
        >>> network.heads, network.norm
        (4, 'pre-layernorm')
    """

    outputs: int
    vocabulary: int | None = None
    depth: int = 2
    heads: int = 4
    width: int = 32
    mlp: Literal["gelu", "relu", "none"] = "gelu"
    mlp_ratio: int = 4
    norm: Literal["pre-layernorm", "post-layernorm", "rmsnorm", "none"] = "pre-layernorm"
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = "learned"
    softmax: bool = True
    residual: bool = True
    tied: bool = False
    causal: bool = True

    @nn.compact
    def __call__(self, inputs: jax.Array) -> jax.Array:
        """Return the outputs (B, L, outputs)."""
        if faults := misfits(self):
            raise InputError("\n".join(faults))
        embed = None
        if self.vocabulary is None:
            x = nn.Dense(self.width, name="embed")(inputs)
        else:
            embed = nn.Embed(self.vocabulary, self.width, name="embed")
            x = embed(inputs)
        L, post = x.shape[1], self.norm == "post-layernorm"
        if self.positions == "learned":
            law = nn.initializers.normal(0.02)
            x = x + self.param("positions", law, (L, self.width))[None]
        elif self.positions == "sinusoidal":
            x = x + sinusoidal(L, self.width)[None].astype(x.dtype)

        def normed(x: jax.Array, name: str) -> jax.Array:
            kind = nn.RMSNorm if self.norm == "rmsnorm" else nn.LayerNorm
            return x if self.norm == "none" else kind(name=name)(x)

        def part(x: jax.Array, function: Any, norm: str) -> jax.Array:
            if post:
                return normed(x + function(x) if self.residual else function(x), norm)
            change = function(normed(x, norm))
            return x + change if self.residual else change

        def mlp(x: jax.Array, layer: int) -> jax.Array:
            hidden = nn.Dense(self.mlp_ratio * self.width, name=f"mlp_in_{layer}")(x)
            hidden = nn.relu(hidden) if self.mlp == "relu" else nn.gelu(hidden)
            return nn.Dense(self.width, name=f"mlp_out_{layer}")(hidden)

        for layer in range(self.depth):
            rotary = self.positions == "rotary"
            attention = Attention(
                self.heads, rotary, self.causal, self.softmax, name=f"attention_{layer}"
            )
            x = part(x, attention, f"attention_norm_{layer}")
            if self.mlp != "none":
                x = part(x, lambda x, layer=layer: mlp(x, layer), f"mlp_norm_{layer}")
        x = x if post else normed(x, "final_norm")
        if embed is not None and self.tied:
            return x @ embed.embedding[: self.outputs].T
        return nn.Dense(self.outputs, name="head")(x)


def misfits(network: Any) -> list[str]:
    """Return a message for each condition between the sizes of a Transformer that fails."""
    faults, width, heads = list[str](), network.width, network.heads
    if width % heads:
        faults.append(
            f"width = {width}: must be divisible by heads = {heads}; set width = "
            f"{heads * max(round(width / heads), 1)}"
        )
    elif network.positions == "rotary" and width // heads % 2:
        faults.append(
            f"width = {width} with heads = {heads}: rotary positions need an even width / heads, "
            f"which is {width // heads}; set width = {width + heads}"
        )
    if network.tied and network.vocabulary is None:
        faults.append("tied = True: the inputs are vectors, which have no embedding; set it False")
    elif network.tied and network.outputs > network.vocabulary:
        faults.append(
            f"tied = True: there are {network.outputs} outputs and {network.vocabulary} tokens; "
            "set it False"
        )
    return faults
