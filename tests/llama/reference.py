"""Logits of the family in NumPy, from the arrays of a file and the entries of its config.json."""

import numpy as np

LENGTHS = {"llama": 2**11, "mistral": 2**17, "qwen2": 2**15, "qwen3": 2**15}


def window(entries, i):
    """The window of layer i; None if it sees all earlier positions."""
    kind, types = entries["model_type"], entries.get("layer_types")
    size = entries.get("sliding_window", 4096)
    if kind == "llama" or (kind != "mistral" and not entries.get("use_sliding_window", False)):
        return None
    if types is None:
        above = kind == "mistral" or i >= entries.get("max_window_layers", 28)
        return size if above else None
    return size if types[i] == "sliding_attention" else None


def mask(length, size):
    """True where position t sees position s."""
    attention_mask = np.zeros((length, length), bool)
    for t in range(length):
        for s in range(length):
            attention_mask[t, s] = s <= t and (size is None or t - s < size)
    return attention_mask


def frequency(entries, i, e):
    """Radians per position of pair i of a head of width e."""
    rope = entries.get("rope_scaling") or {}
    f = entries.get("rope_theta", 10000.0) ** (-2 * i / e)
    if rope.get("rope_type") == "linear":
        return f / rope["factor"]
    if rope.get("rope_type") == "llama3":
        longest = entries.get("max_position_embeddings", LENGTHS[entries["model_type"]])
        longest = rope.get("original_max_position_embeddings", longest)
        wavelength, low, high = 2 * np.pi / f, rope["low_freq_factor"], rope["high_freq_factor"]
        if wavelength < longest / high:
            return f
        if wavelength > longest / low:
            return f / rope["factor"]
        share = (longest / wavelength - low) / (high - low)
        return (1 - share) * f / rope["factor"] + share * f
    return f


def rotated(x, entries):
    """x (T, e) with the pair (x_i, x_(i + e/2)) of position t as a complex number, turned."""
    T, e = x.shape
    pairs = x[:, : e // 2] + 1j * x[:, e // 2 :]
    for i in range(e // 2):
        pairs[:, i] *= np.exp(1j * frequency(entries, i, e) * np.arange(T))
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def norm(x, scale, entries):
    return x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + entries["rms_norm_eps"]) * scale


def logits(arrays, entries, tokens):
    """(T, V) of one sequence; arrays are stored as (outputs, inputs)."""
    H, G, e = (entries[n] for n in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    x = arrays["model.embed_tokens.weight"][tokens]

    def linear(x, name):
        return x @ arrays[f"{name}.weight"].T + arrays.get(f"{name}.bias", 0.0)

    for i in range(entries["num_hidden_layers"]):
        at = f"model.layers.{i}"
        a = norm(x, arrays[f"{at}.input_layernorm.weight"], entries)
        q, k, v = (linear(a, f"{at}.self_attn.{n}_proj") for n in "qkv")
        attention_mask, heads = mask(len(x), window(entries, i)), []
        for h in range(H):
            g = h * G // H
            q_h, k_h = q[:, h * e : (h + 1) * e], k[:, g * e : (g + 1) * e]
            if entries["model_type"] == "qwen3":
                q_h = norm(q_h, arrays[f"{at}.self_attn.q_norm.weight"], entries)
                k_h = norm(k_h, arrays[f"{at}.self_attn.k_norm.weight"], entries)
            z = rotated(q_h, entries) @ rotated(k_h, entries).T / np.sqrt(e)
            f = np.where(attention_mask, np.exp(z - z.max()), 0.0)
            heads.append(f / f.sum(axis=1, keepdims=True) @ v[:, g * e : (g + 1) * e])
        x = x + linear(np.concatenate(heads, axis=1), f"{at}.self_attn.o_proj")
        b = norm(x, arrays[f"{at}.post_attention_layernorm.weight"], entries)
        gate = linear(b, f"{at}.mlp.gate_proj")
        x = x + linear(
            gate / (1 + np.exp(-gate)) * linear(b, f"{at}.mlp.up_proj"), f"{at}.mlp.down_proj"
        )
    head = "lm_head" if "lm_head.weight" in arrays else "model.embed_tokens"
    return linear(norm(x, arrays["model.norm.weight"], entries), head)
