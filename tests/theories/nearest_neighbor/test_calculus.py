"""The gradient of the averaged loss keeps its digits where attention is sharp."""

from decimal import Decimal, localcontext

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtheory.theories.nearest_neighbor import THEORY, calculus
from jaxtheory.theories.nearest_neighbor.model import Prompts, Reduced


@pytest.mark.parametrize("mask", [5.0, 150.0])
@pytest.mark.parametrize("xi1", [-3.0, 0.5, 60.0, 120.0])
def test_the_gradient_keeps_its_digits_where_attention_is_sharp(xi1, mask):
    """One prompt against 120 decimal digits: 1 - s* is as small as exp(-60)."""
    t = [0.9, 0.4, -0.3]
    config = THEORY.Config(dimension=3, context=3, num_prompts=1)
    prompts = Prompts(None, None, jnp.array([t]), jnp.zeros(1, jnp.int32), None, jnp.ones(1))
    params = Reduced(jnp.asarray(xi1), jnp.asarray(mask))
    gradient = calculus.averaged_gradient(params, prompts, config)
    with localcontext(prec=120):
        digits = [Decimal(x) for x in t]
        z = [Decimal(xi1) * x for x in digits] + [Decimal(xi1) - Decimal(mask)]
        e = [x.exp() for x in z]
        s = [x / sum(e) for x in e]
        Q, star = sum(x * x for x in s[:-1]), s[0]
        g = [x * (x - Q + star - (i == 0)) for i, x in enumerate(s[:-1])]
        of_query = s[-1] * (star - Q)
        want = float(sum(a * b for a, b in zip(g, digits, strict=True)) + of_query)
        np.testing.assert_allclose(gradient, [want, float(-of_query)], rtol=1e-12)
