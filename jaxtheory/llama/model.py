"""The architecture of Llama, Mistral, Qwen2 and Qwen3 as pure functions of a pytree of weights.

Symbols: B sequences of T tokens, d = hidden_size, H query heads, G key and value heads, e =
head_dim, m = intermediate_size, V = vocab_size. With R the rotation of each position and g(h) =
floor(h G / H):

    q_h = R(x W_Q)_h,  k_g = R(x W_K)_g,   f_h = causal softmax(q_h k_g(h)^T / sqrt(e))
    x <- x + concat_h(f_h (x W_V)_g(h)) W_O,         x read through RMSNorm
    x <- x + (silu(x W_gate) o (x W_up)) W_down,     x read through RMSNorm

Of Qwen2, queries, keys and values have biases: x W_Q + b_Q. Of Qwen3, each head of queries and keys
goes through an RMSNorm before R. In a layer with a window of w, position i sees the positions j
with i - w < j <= i. A weight that a model does not have is None.

Weights act on the right (y = x W: rows are inputs, columns outputs), the transpose of what a
checkpoint stores. Computations are in float32 or wider, even if weights are stored in bfloat16. One
compiled layer serves for all layers.
Source: Touvron et al. 2023 (Llama); scaling of the rotary encodings: the Llama 3.1 release; Jiang
et al. 2023 (Mistral), section 2; Qwen2 technical report (2024), section 2.2.1; Qwen3 technical
report (2025), section 2; where they do not say how, transformers 5.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from jaxtheory.core.config import Record
from jaxtheory.llama.config import Config, notice_length
from jaxtheory.llama.rope import frequencies
from jaxtheory.ops import passes
from jaxtheory.ops.attention import softmax
from jaxtheory.texts.errors import InputError

LOGITS_AT_ONCE = 2**25  # largest number of entries of attention matrices or logits in memory


class Layer(Record):
    """Weights of one layer, where rows of matrices are inputs and columns are outputs.

    Args:
        input_norm: The scale of the RMSNorm before the attention, (d,).
        query: W_Q, (d, H e).
        key: W_K, (d, G e).
        value: W_V, (d, G e).
        output: W_O, (H e, d).
        mlp_norm: The scale of the RMSNorm before the MLP, (d,).
        gate: W_gate, (d, m).
        up: W_up, (d, m).
        down: W_down, (m, d).
        query_bias: b_Q, (H e,), or None.
        key_bias: b_K, (G e,), or None.
        value_bias: b_V, (G e,), or None.
        query_norm: The scale of the RMSNorm of each query head, (e,), or None.
        key_norm: The scale of the RMSNorm of each key head, (e,), or None.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> weights = llama.init(jax.random.key(0), llama.Config(**sizes, **heads))
        >>> weights.layers[0].gate.shape
        (4, 6)
    """

    input_norm: Float[Array, " d"]
    query: Float[Array, "d H*e"]
    key: Float[Array, "d G*e"]
    value: Float[Array, "d G*e"]
    output: Float[Array, "H*e d"]
    mlp_norm: Float[Array, " d"]
    gate: Float[Array, "d m"]
    up: Float[Array, "d m"]
    down: Float[Array, "m d"]
    query_bias: Float[Array, " H*e"] | None = None
    key_bias: Float[Array, " G*e"] | None = None
    value_bias: Float[Array, " G*e"] | None = None
    query_norm: Float[Array, " e"] | None = None
    key_norm: Float[Array, " e"] | None = None


class Weights(Record):
    """All weights of a model.

    Args:
        embedding: The token embedding, (V, d).
        layers: The layers in order.
        norm: The scale of the last RMSNorm, (d,).
        head: The output head, (d, V), or None if the embedding is also the head (tied).

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> llama.init(jax.random.key(0), llama.Config(**sizes, **heads)).head.shape
        (4, 8)
    """

    embedding: Float[Array, "V d"]
    layers: tuple[Layer, ...]
    norm: Float[Array, " d"]
    head: Float[Array, "d V"] | None


def shapes(config: Config, dtype: str = "float32") -> Weights:
    """Return the shape and dtype of each weight."""

    def matrix(*sizes: int) -> Any:
        return jax.ShapeDtypeStruct(sizes, dtype)

    V, d, m = config.vocab_size, config.hidden_size, config.intermediate_size
    q, k = (n * config.head_dim for n in (config.num_attention_heads, config.num_key_value_heads))
    layer = Layer(
        input_norm=matrix(d),
        query=matrix(d, q),
        key=matrix(d, k),
        value=matrix(d, k),
        output=matrix(q, d),
        mlp_norm=matrix(d),
        gate=matrix(d, m),
        up=matrix(d, m),
        down=matrix(m, d),
    )
    if config.model_type == "qwen2":
        layer = replace(layer, query_bias=matrix(q), key_bias=matrix(k), value_bias=matrix(k))
    if config.model_type == "qwen3":
        norm = matrix(config.head_dim)
        layer = replace(layer, query_norm=norm, key_norm=norm)
    head = None if config.tie_word_embeddings else matrix(d, V)
    return Weights(matrix(V, d), (layer,) * config.num_hidden_layers, matrix(d), head)


def init(key: Array, config: Config, deviation: float = 0.02) -> Weights:
    """Draw random float32 weights: matrices from N(0, deviation^2), norms 1, and biases 0.

    Args:
        key: A PRNG key.
        config: The sizes.
        deviation: The standard deviation of the entries of matrices.

    Returns:
        The weights.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> llama.init(jax.random.key(0), llama.Config(**sizes, **heads)).embedding.shape
        (8, 4)
    """

    def draw(key: Array, named: tuple[Any, jax.ShapeDtypeStruct]) -> Array:
        path, weight = named
        if len(weight.shape) == 1:
            constant = 0 if jax.tree_util.keystr(path).endswith("_bias") else 1
            return jnp.full(weight.shape, constant, weight.dtype)
        return deviation * jax.random.normal(key, weight.shape, weight.dtype)

    leaves, tree = jax.tree_util.tree_flatten_with_path(shapes(config))
    weights: Weights = jax.tree.unflatten(
        tree, [draw(*pair) for pair in zip(jax.random.split(key, len(leaves)), leaves, strict=True)]
    )
    return weights


def wide(tree: Any) -> Any:
    """Cast arrays that are narrower than float32 to float32."""
    return jax.tree.map(lambda a: a.astype(jnp.float32) if a.dtype.itemsize < 4 else a, tree)


def rms_norm(
    x: Float[Array, "*B d"], scale: Float[Array, " d"], config: Config
) -> Float[Array, "*B d"]:
    """Return x / sqrt(mean(x^2) + eps) o scale."""
    mean = jnp.mean(x**2, axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(mean + config.rms_norm_eps) * jnp.broadcast_to(scale, x.shape)


def rms_norm_gradient(
    g: Float[Array, "*B d"], x: Float[Array, "*B d"], scale: Float[Array, " d"], config: Config
) -> Float[Array, "*B d"]:
    """Return the gradient in x of <g, rms_norm(x)>, with r = 1 / sqrt(mean(x^2) + eps).

    r (g o scale - r^2 x mean(x o g o scale))
    """
    r = jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + config.rms_norm_eps)
    g = g * jnp.broadcast_to(scale, x.shape)
    return r * (g - r**2 * x * jnp.mean(x * g, axis=-1, keepdims=True))


def rotate(
    x: Float[Array, "*B T e"], config: Config, inverse: bool = False
) -> Float[Array, "*B T e"]:
    """Apply R, which rotates the pair (x_i, x_(i+e/2)) of position t by t times frequency i.

    inverse: apply R^T = R^-1 in its place.
    """
    angles = np.arange(x.shape[-2])[:, None] * frequencies(config.rope, config.head_dim)[None, :]
    angles = np.expand_dims(angles, tuple(range(x.ndim - 2)))
    cos = jnp.asarray(np.cos(angles), x.dtype)
    sin = jnp.asarray(-np.sin(angles) if inverse else np.sin(angles), x.dtype)
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _heads(x: Float[Array, "*B T heads*e"], config: Config) -> Float[Array, "*B heads T e"]:
    """Split the last axis into heads."""
    return jnp.moveaxis(x.reshape(*x.shape[:-1], -1, config.head_dim), -2, -3)


def merge_heads(x: Float[Array, "*B heads T e"]) -> Float[Array, "*B T heads*e"]:
    """Undo `_heads`."""
    x = jnp.moveaxis(x, -3, -2)
    return x.reshape(*x.shape[:-2], -1)


class Queries(NamedTuple):
    """Rotated queries, grouped by their key head, and rotated keys."""

    queries: Float[Array, "*B G r T e"]
    keys: Float[Array, "*B G T e"]


def _linear(
    x: Float[Array, "*B T d"], weights: Float[Array, "d n"], bias: Float[Array, " n"] | None
) -> Float[Array, "*B T n"]:
    y = x @ weights
    return y if bias is None else y + jnp.broadcast_to(bias, y.shape)


def linear_heads(
    layer: Layer, x: Float[Array, "*B T d"], config: Config
) -> tuple[Float[Array, "*B H T e"], Float[Array, "*B G T e"]]:
    """Return the heads of x W_Q + b_Q and x W_K + b_K, before the RMSNorm and the rotation."""
    query = _heads(_linear(x, layer.query, layer.query_bias), config)
    return query, _heads(_linear(x, layer.key, layer.key_bias), config)


def project(layer: Layer, x: Float[Array, "*B T d"], config: Config) -> Queries:
    """Return q and k of inputs x."""
    q, k = (
        rotate(u if scale is None else rms_norm(u, scale, config), config)
        for u, scale in zip(
            linear_heads(layer, x, config), (layer.query_norm, layer.key_norm), strict=True
        )
    )
    G = config.num_key_value_heads
    return Queries(q.reshape(*q.shape[:-3], G, -1, *q.shape[-2:]), k)


def scores(projected: Queries, config: Config) -> Float[Array, "*B G r T T"]:
    """Return the logits q_h k_g^T / sqrt(e) of the attention."""
    q, k = projected
    return jnp.einsum("...grte,...gse->...grts", q, k) / np.sqrt(config.head_dim).astype(q.dtype)


def causal_softmax(z: Float[Array, "*B T T"], config: Config) -> Float[Array, "*B T T"]:
    """Return the softmax over the positions s with t - w < s <= t for each position t."""
    mask = np.tri(z.shape[-1], dtype=bool)
    if config.sliding_window is not None:
        mask &= ~np.tri(z.shape[-1], k=-config.sliding_window, dtype=bool)
    return softmax(z, jnp.broadcast_to(mask, z.shape))


def attention(
    layer: Layer, x: Float[Array, "*B T d"], config: Config
) -> Float[Array, "*B G r T T"]:
    """Return f, the attention of every head on inputs x (after RMSNorm)."""
    return causal_softmax(scores(project(layer, x, config), config), config)


def _context(layer: Layer, x: Float[Array, "*B T d"], config: Config) -> Float[Array, "*B T H*e"]:
    """Return concat_h(f_h (x W_V + b_V)_g(h)), the input of W_O; x: after RMSNorm."""
    f = attention(layer, x, config)
    v = _heads(_linear(x, layer.value, layer.value_bias), config)
    mixed = jnp.einsum("...grts,...gse->...grte", f, v)
    heads = mixed.reshape(*mixed.shape[:-4], -1, *mixed.shape[-2:])
    if passes.is_changed():
        heads = _changed(f, v, heads)
    return merge_heads(heads)


def _changed(
    f: Float[Array, "B G r T T"], v: Float[Array, "B G T e"], heads: Float[Array, "B heads T e"]
) -> Float[Array, "B heads T e"]:
    """Return what the heads read under the interventions of `logits`."""
    maps = f.reshape(len(f), -1, *f.shape[-2:])
    values = jnp.repeat(v, f.shape[2], axis=1)
    changed = passes.edited(maps, jnp.swapaxes(values, 1, 2), jnp.swapaxes(heads, 1, 2))
    return jnp.swapaxes(changed, 1, 2)


def _hidden(layer: Layer, x: Float[Array, "*B T d"]) -> Float[Array, "*B T m"]:
    """Return silu(x W_gate) o (x W_up), the input of W_down; x: after RMSNorm."""
    return jax.nn.silu(x @ layer.gate) * (x @ layer.up)


class Inputs(NamedTuple):
    """Inputs of the linear maps of a layer: query, key, value; output; gate, up; down."""

    attention: Any  # (.., T, d)
    output: Any  # (.., T, H e)
    mlp: Any  # (.., T, d)
    down: Any  # (.., T, m)


def through(
    layer: Layer, x: Float[Array, "*B T d"], config: Config
) -> tuple[Float[Array, "*B T d"], Inputs]:
    """Return the stream after a layer and the inputs of its linear maps."""
    layer = wide(layer)
    a = rms_norm(x, layer.input_norm, config)
    o = _context(layer, a, config)
    x = x + o @ layer.output
    b = rms_norm(x, layer.mlp_norm, config)
    h = _hidden(layer, b)
    return x + h @ layer.down, Inputs(a, o, b, h)


@partial(jax.jit, static_argnames="config")
def block(layer: Layer, x: Float[Array, "B T d"], config: Config) -> Float[Array, "B T d"]:
    """Return the stream after a layer, for as many sequences at a time as LOGITS_AT_ONCE allows."""
    at_once = max(1, LOGITS_AT_ONCE // (config.num_attention_heads * x.shape[1] ** 2))
    if at_once >= len(x):
        return through(layer, x, config)[0]
    return jax.lax.map(lambda one: through(layer, one, config)[0], x, batch_size=at_once)


def embed(weights: Weights, tokens: Int[ArrayLike, "B T"]) -> Float[Array, "B T d"]:
    """Return the stream before the first layer."""
    return wide(jnp.take(weights.embedding, jnp.asarray(tokens), axis=0))


@partial(jax.jit, static_argnames="config")
def _read(weights: Weights, x: Float[Array, "*B d"], config: Config) -> Float[Array, "*B V"]:
    """Return the logits of the stream after the last layer; `weights` have no layers."""
    head = weights.embedding.T if weights.head is None else weights.head
    return rms_norm(x, wide(weights.norm), config) @ wide(head)


def stream(
    weights: Weights, tokens: Int[ArrayLike, "B T"], config: Config
) -> Float[Array, "B T d"]:
    """Return the stream after the last layer."""
    x = embed(weights, tokens)
    for i, layer in enumerate(weights.layers):
        x = block(layer, x, config.at(i))
    return x


def logits(
    weights: Weights,
    tokens: Int[ArrayLike, "B T"],
    config: Config,
    *,
    interventions: tuple[passes.Intervention, ...] = (),
) -> Float[Array, "B T V"]:
    """Return the logits of the next token at every position.

    Nothing is padded, and every sequence starts at position 0.

    Args:
        weights: The weights.
        tokens: Integers in [0, V), (B, T).
        config: The config.
        interventions: Changes of what heads read, by `jaxtheory.networks.ablate`, `cut_edges` and
            `patch`, whose functions get (weights, tokens, None, config).

    Returns:
        The logits, (B, T, V).

    Raises:
        InputError: The tokens have a wrong shape, type or range.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> weights = llama.init(jax.random.key(0), config)
        >>> llama.logits(weights, [[1, 2, 3]], config).shape
        (1, 3, 8)
    """
    read = partial(_read, replace(weights, layers=()), config=config)
    tokens = check_tokens(tokens, config)
    if not interventions:
        return read(stream(weights, tokens, config))
    call = passes.Call(weights, tokens, None, config, partial(_heads_read, config=config))
    with passes.changed([intervention(call) for intervention in interventions]):
        return read(_whole_stream(weights, tokens, config))


def _whole_stream(
    weights: Weights, tokens: Int[Array, "B T"], config: Config
) -> Float[Array, "B T d"]:
    """Return the stream after the last layer, of all sequences at a time and without `jax.jit`."""
    x = embed(weights, tokens)
    for i, layer in enumerate(weights.layers):
        x, _ = through(layer, x, config.at(i))
    return x


def _heads_read(
    weights: Weights, tokens: Int[Array, "B T"], *, config: Config
) -> list[Float[Array, "B T heads e"]]:
    """Return what the heads of each layer read."""
    with passes.changed(()) as heads:
        _whole_stream(weights, tokens, config)
    return heads


@partial(jax.jit, static_argnames="config")
def _losses(
    weights: Weights, x: Float[Array, "B T d"], tokens: Int[Array, "B T"], config: Config
) -> Float[Array, ""]:
    """Return the sum of -log p(next token) over the B (T - 1) predictions, in batches."""

    def one(pair: tuple[Array, Array]) -> Array:
        z = _read(weights, pair[0], config)
        return jax.nn.logsumexp(z, axis=-1) - jnp.take_along_axis(z, pair[1][..., None], -1)[..., 0]

    x, wanted = x[:, :-1].reshape(-1, x.shape[-1]), tokens[:, 1:].reshape(-1)
    at_once = max(1, min(LOGITS_AT_ONCE // config.vocab_size, len(wanted)))
    return jnp.sum(jax.lax.map(one, (x, wanted), batch_size=at_once))


def loss(weights: Weights, tokens: Int[ArrayLike, "B T"], config: Config) -> Float[Array, ""]:
    """Return the mean of -log p(token_t | token_<t in its window) over B (T - 1) predictions.

    Args:
        weights: The weights.
        tokens: Integers in [0, V), (B, T) with T >= 2. They are not checked, as this function is
            meant for differentiation and `jit`.
        config: The config.

    Returns:
        The mean, in nats.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> weights = llama.init(jax.random.key(0), config, deviation=0.0)
        >>> round(float(llama.loss(weights, jnp.array([[1, 2, 3]]), config)), 4)  # log 8
        2.0794
    """
    B, T = jnp.shape(tokens)
    return _losses(weights, stream(weights, tokens, config), tokens, config) / (B * (T - 1))


def perplexity(
    weights: Weights, tokens: Int[ArrayLike, "B T"], config: Config, *, last: int | None = None
) -> float:
    """Return the perplexity exp(`loss`) of windows of tokens.

    perplexity = exp(mean of -log p(token_t | token_<t in its window)) over all windows and
    t = T - last .. T - 1.

    Args:
        weights: The weights.
        tokens: Integers in [0, V), (B, T) with T >= 2.
        config: The config.
        last: The number of scored tokens at the end of each window, in [1, T - 1]; None: T - 1,
            all that have context.

    Returns:
        The perplexity.

    Raises:
        InputError: The tokens have a wrong shape, type or range, or `last` is out of range.

    Example:
        >>> import jax
        >>> from jaxtheory import llama
        >>> sizes = dict(vocab_size=8, hidden_size=4, intermediate_size=6, num_hidden_layers=1)
        >>> heads = dict(num_attention_heads=2, num_key_value_heads=1, head_dim=2)
        >>> config = llama.Config(**sizes, **heads)
        >>> weights = llama.init(jax.random.key(0), config, deviation=0.0)
        >>> round(llama.perplexity(weights, [[1, 2, 3]], config), 3)
        8.0
    """
    tokens = check_tokens(tokens, config)
    B, T = tokens.shape
    if T < 2:
        raise InputError(f"tokens of shape {tokens.shape}: a window needs at least 2 tokens")
    last = T - 1 if last is None else last
    if not 1 <= last < T:
        raise InputError(f"last = {last}: must be an integer in [1, {T - 1}] for windows of {T}")
    notice_length(T, config)
    at_once = max(1, 2**14 // T)
    total = 0.0
    for start in range(0, B, at_once):
        window = tokens[start : start + at_once]
        x = stream(weights, window, config)[:, -last - 1 :]
        total += float(_losses(replace(weights, layers=()), x, window[:, -last - 1 :], config))
    return float(np.exp(total / (B * last)))


def check_tokens(tokens: Any, config: Config) -> Int[Array, "B T"]:
    """Return the tokens, or raise InputError unless they are integers (B, T) in [0, V).

    The values of tracers are not checked.
    """
    tokens = tokens if hasattr(tokens, "dtype") else np.asarray(tokens)
    shape, dtype = tokens.shape, tokens.dtype
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"tokens of shape {shape}: must be (sequences, tokens), both positive")
    if not np.issubdtype(dtype, np.integer):
        raise InputError(f"tokens of type {dtype}: must be integers")
    if not isinstance(tokens, jax.core.Tracer):
        low, high = int(np.min(tokens)), int(np.max(tokens))
        if low < 0 or high >= config.vocab_size:
            raise InputError(
                f"tokens from {low} to {high}: must lie in [0, vocab_size = {config.vocab_size})"
            )
        tokens = np.asarray(tokens, np.int32)
    return jnp.asarray(tokens)
