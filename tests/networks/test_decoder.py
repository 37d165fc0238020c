"""The Transformer equals an independent forward pass in NumPy, its gradient central differences."""

import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory import InputError
from jaxtheory.networks.decoder import Transformer, misfits
from jaxtheory.networks.linen_module import usual_promotion

TOKENS = np.array([[0, 3, 1, 4, 2], [4, 4, 0, 1, 3]])
VECTORS = np.random.default_rng(3).normal(size=(2, 5, 3))
SIZES = {"outputs": 5, "depth": 2, "heads": 2, "width": 8, "mlp_ratio": 2}


def drawn(network, inputs):
    """All variables of a network in float64, with no entry at its initial 0 or 1."""
    with usual_promotion():
        variables = network.init(jax.random.key(1), jnp.asarray(inputs))
    leaves, structure = jax.tree.flatten(variables)
    random = np.random.default_rng(5)
    leaves = [np.asarray(x, float) + 0.3 * random.normal(size=x.shape) for x in leaves]
    return jax.tree.unflatten(structure, leaves)


def applied(network, variables, inputs):
    with usual_promotion():
        return network.apply(variables, jnp.asarray(inputs))


# The forward pass for one sequence, in loops


def dense(x, w):
    return x @ w["kernel"] + w["bias"]


def normalized(x, w, norm):
    if norm == "none":
        return x
    if norm == "rmsnorm":
        return np.array([r / np.sqrt((r**2).mean() + 1e-6) * w["scale"] for r in x])
    centred = [r - r.mean() for r in x]
    return np.array([r / np.sqrt((r**2).mean() + 1e-6) * w["scale"] + w["bias"] for r in centred])


def turned(x, position):
    """A vector, each of whose pairs is turned as a complex number."""
    n = len(x) // 2
    z = (x[:n] + 1j * x[n:]) * np.exp(1j * position * 10_000.0 ** (-np.arange(n) / n))
    return np.concatenate([z.real, z.imag])


def attention(x, w, network, maps):
    q, k, v = (dense(x, w[name]) for name in ("query", "key", "value"))
    L, d = len(x), network.width // network.heads
    mixed = np.zeros_like(x)
    for head in range(network.heads):
        own = slice(head * d, (head + 1) * d)
        probabilities = np.zeros((L, L))
        for i in range(L):
            context = range(i + 1) if network.causal else range(L)
            for j in context:
                a, b = q[i, own], k[j, own]
                if network.positions == "rotary":
                    a, b = turned(a, i), turned(b, j)
                score = a @ b / np.sqrt(d)
                probabilities[i, j] = np.exp(score) if network.softmax else score
            probabilities[i] /= probabilities[i].sum() if network.softmax else len(context)
            mixed[i, own] = sum(probabilities[i, j] * v[j, own] for j in range(L))
        maps.append(probabilities)
    return dense(mixed, w["out"])


def mlp(x, first, second, kind):
    hidden = dense(x, first)
    cubic = hidden + 0.044715 * hidden**3
    gelu = hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * cubic)) / 2
    return dense(np.maximum(hidden, 0) if kind == "relu" else gelu, second)


def forward(network, w, sequence):
    """The outputs (L, outputs) and the attention maps of one sequence."""
    maps, norm, width = [], network.norm, network.width
    if network.vocabulary is None:
        x = dense(sequence, w["embed"])
    else:
        x = np.array([w["embed"]["embedding"][token] for token in sequence])
    if network.positions == "learned":
        x = x + w["positions"]
    if network.positions == "sinusoidal":
        n = width // 2
        for j, i in itertools.product(range(len(x)), range(n)):
            x[j, i] += np.sin(j / 10_000.0 ** (i / n))
            x[j, n + i] += np.cos(j / 10_000.0 ** (i / n))
    for layer in range(network.depth):
        parts = [("attention", lambda y, n=layer: attention(y, w[f"attention_{n}"], network, maps))]
        if network.mlp != "none":
            weights = w[f"mlp_in_{layer}"], w[f"mlp_out_{layer}"]
            parts.append(("mlp", lambda y, two=weights: mlp(y, *two, network.mlp)))
        for name, part in parts:
            scales = w.get(f"{name}_norm_{layer}")
            stream = x if network.residual else 0
            if norm == "post-layernorm":
                x = normalized(stream + part(x), scales, norm)
            else:
                x = stream + part(normalized(x, scales, norm))
    if norm != "post-layernorm":
        x = normalized(x, w.get("final_norm"), norm)
    if network.tied and network.vocabulary is not None:
        return x @ w["embed"]["embedding"][: network.outputs].T, maps
    return dense(x, w["head"]), maps


OPTIONS = {
    "defaults": {},
    "post-layernorm": {"norm": "post-layernorm"},
    "rmsnorm": {"norm": "rmsnorm"},
    "no norm": {"norm": "none"},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary"},
    "no positions": {"positions": "none"},
    "relu": {"mlp": "relu"},
    "no mlp": {"mlp": "none"},
    "linear attention": {"softmax": False},
    "linear attention, not causal": {"softmax": False, "causal": False},
    "no residual": {"residual": False},
    "no residual, post": {"residual": False, "norm": "post-layernorm"},
    "tied": {"tied": True},
    "tied, more tokens": {"tied": True, "vocabulary": 7},
    "not causal": {"causal": False},
    "one layer and head": {"depth": 1, "heads": 1},
    "vectors": {"vocabulary": None},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_equals_an_independent_forward_pass(options):
    network = Transformer(**SIZES | {"vocabulary": 5} | options)
    inputs = VECTORS if network.vocabulary is None else TOKENS
    variables = drawn(network, inputs)
    got = applied(network, variables, inputs)
    for row, sequence in zip(got, inputs, strict=True):
        want, _ = forward(network, variables["params"], sequence)
        np.testing.assert_allclose(row, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_its_gradient_equals_central_differences(options):
    network = Transformer(**SIZES | {"vocabulary": 5} | options)
    inputs = VECTORS if network.vocabulary is None else TOKENS
    variables = drawn(network, inputs)
    weights = np.random.default_rng(7).normal(size=(2, 5, 5))

    def in_jax(variables):
        return jnp.sum(jnp.asarray(weights) * jnp.tanh(applied(network, variables, inputs)))

    def in_numpy(variables):
        outputs = [forward(network, variables["params"], sequence)[0] for sequence in inputs]
        return np.sum(weights * np.tanh(outputs))

    with usual_promotion():
        slope = jax.grad(in_jax)(variables)
    random, h = np.random.default_rng(9), 1e-6
    for path, leaf in jax.tree.leaves_with_path(variables):
        place = tuple(random.integers(n) for n in leaf.shape)

        def moved(by, path=path, place=place):
            def shift(where, x):
                change = np.zeros(x.shape)
                if where == path:
                    change[place] = by
                return x + change

            return jax.tree.map_with_path(shift, variables)

        want = (in_numpy(moved(h)) - in_numpy(moved(-h))) / (2 * h)
        (got,) = [g for p, g in jax.tree.leaves_with_path(slope) if p == path]
        np.testing.assert_allclose(got[place], want, rtol=1e-5, atol=1e-7)


def test_the_sown_maps_are_those_of_the_forward_pass():
    network = Transformer(**SIZES, vocabulary=5)
    variables = drawn(network, TOKENS)
    with usual_promotion():
        _, intermediates = network.apply(variables, jnp.asarray(TOKENS), mutable=["intermediates"])
    for layer in range(2):
        (maps,) = intermediates["intermediates"][f"attention_{layer}"]["attention"]
        assert maps.shape == (2, 2, 5, 5)
        for row, sequence in zip(maps, TOKENS, strict=True):
            _, want = forward(network, variables["params"], sequence)
            np.testing.assert_allclose(row, want[2 * layer : 2 * layer + 2], atol=1e-12)


def test_it_is_initialized_as_flax_does():
    network = Transformer(**SIZES | {"width": 64}, vocabulary=50)
    with usual_promotion():
        params = network.init(jax.random.key(0), jnp.asarray(TOKENS))["params"]
    query = params["attention_0"]["query"]
    assert not np.any(query["bias"])
    assert float(np.std(query["kernel"])) == pytest.approx(64**-0.5, rel=0.05)
    with usual_promotion():
        embed = nn.Embed(50, 64).init(jax.random.key(0), jnp.asarray(TOKENS))["params"]
    spread = float(np.std(embed["embedding"]))
    assert float(np.std(params["embed"]["embedding"])) == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"width": 10, "heads": 4}, "width = 10: must be divisible by heads = 4; set width = 8"),
        ({"width": 2, "heads": 4}, "width = 2: must be divisible by heads = 4; set width = 4"),
        (
            {"width": 6, "heads": 2, "positions": "rotary"},
            "width = 6 with heads = 2: rotary positions need an even width / heads, which is 3; "
            "set width = 8",
        ),
        ({"tied": True, "vocabulary": None}, "tied = True: the inputs are vectors, which have no"),
        ({"tied": True, "vocabulary": 4}, "tied = True: there are 5 outputs and 4 tokens"),
    ],
)
def test_sizes_that_do_not_fit_are_named(sizes, message):
    network = Transformer(**SIZES | {"vocabulary": 5} | sizes)
    (fault,) = misfits(network)
    assert fault.startswith(message)
    with pytest.raises(InputError, match=r"^(width|tied) = "):
        network.init(jax.random.key(0), jnp.asarray(TOKENS))
    assert misfits(Transformer(**SIZES, vocabulary=5)) == []
