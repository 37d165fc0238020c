"""AdamW of traced numbers: its schedule, its decay and its clipping, against formulas by hand."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory.networks import adamw
from jaxtheory.networks.linen_module import usual_promotion
from jaxtheory.networks.optimizer import _decayed, warmed_cosine


def test_the_schedule_warms_up_and_falls_to_zero():
    rate = warmed_cosine(0.1, 4, 100)
    assert [float(rate(t)) for t in (0, 1)] == pytest.approx([0.025, 0.05], rel=1e-3)
    assert float(rate(50)) == pytest.approx(0.05)
    assert float(rate(100)) == pytest.approx(0) == pytest.approx(float(rate(150)))


def by_hand(slopes, w, peak, warmup, horizon, decay, clip):
    """W after steps of AdamW along given slopes."""
    m = v = np.zeros_like(w)
    for t, g in enumerate(slopes):
        g = g * min(1, clip / np.linalg.norm(g))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        direction = m / (1 - 0.9 ** (t + 1)) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
        warm = min((t + 1) / max(warmup, 1), 1)
        rate = peak * warm * (1 + np.cos(np.pi * min(t / horizon, 1))) / 2
        w = w - rate * (direction + decay * w)
    return w


@pytest.mark.parametrize("warmup", [0, 3])
@pytest.mark.parametrize(("shape", "decay"), [((2, 2), 0.3), ((4,), 0.0)])
def test_it_is_adamw_by_hand_with_traced_numbers(warmup, shape, decay):
    draw = np.random.default_rng(0)
    w, slopes = draw.normal(size=shape), draw.normal(size=(6, *shape)) * 3

    def run(peak, warmup, horizon, weight_decay, clip):
        rule = adamw(
            peak, warmup=warmup, horizon=horizon, weight_decay=weight_decay, clip_norm=clip
        )
        params, memory = jnp.asarray(w), rule.init(w)
        for slope in slopes:
            update, memory = rule.update(jnp.asarray(slope), memory, params)
            params = optax.apply_updates(params, update)
        return params

    with jax.numpy_dtype_promotion("standard"):
        got = jax.jit(run)(0.1, warmup, 5, 0.3, 2.0)
    np.testing.assert_allclose(got, by_hand(slopes, w, 0.1, warmup, 5, decay, 2.0), rtol=1e-6)


def test_a_sweep_traces_the_peak():
    rule = lambda c: adamw(c.learning_rate, warmup=2, horizon=9)
    theory = THEORY._replace(algorithms={"adamw": jaxtheory.from_optax(THEORY, rule)})
    data = jaxtheory.sweep(theory, Config(), vary={"eta": [0.01, 0.1]}, steps=5)
    low, high = data.loss.isel(step=-1, seed=0).values
    assert low != high


class Net(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(3, 4)(tokens) + self.param("positions", nn.initializers.ones, (3, 4))
        x = nn.MultiHeadDotProductAttention(2)(nn.LayerNorm()(x))
        return nn.Dense(2, name="embed")(x)


def test_only_matrices_of_weights_decay():
    with usual_promotion():
        params = Net().init(jax.random.key(0), jnp.zeros((1, 3), int))["params"]
    leaves = jax.tree.leaves_with_path(_decayed(params))
    names = {jax.tree_util.keystr(p, simple=True, separator="."): decays for p, decays in leaves}
    assert {name.rpartition(".")[2] for name, decays in names.items() if decays} == {"kernel"}
    assert {name.rpartition(".")[2] for name, decays in names.items() if not decays} == {
        *("bias", "scale", "embedding", "positions")
    }
    assert names["embed.kernel"]  # a matrix that acts on vectors
    own = nnx.to_pure_dict(nnx.state(nnx.LayerNorm(4, rngs=nnx.Rngs(0)), nnx.Param))
    assert not any(jax.tree.leaves(_decayed(own)))
    assert _decayed(jnp.ones((2, 2))) is True and _decayed(jnp.ones(2)) is False
