"""Padded features, heads and prompts: conditions and metrics that are read beyond the sizes."""

import jax
import numpy as np
import pytest

from jaxtheory.theories.in_context_regression import Config, assumptions, init, metrics, problem

KEY = jax.random.key(0)
BIG = {"dimension": 5, "length": 6, "heads": 7, "num_prompts": 9}


@pytest.mark.parametrize("form", ["separate", "merged"])
@pytest.mark.parametrize("heads", [2, 6])  # fewer than features, and more than the padded ones
def test_conditions_are_those_without_padding(form, heads):
    config = Config(dimension=3, length=4, heads=heads, num_prompts=5, form=form)
    want, got = (assumptions(problem(KEY, c), c) for c in (config, config.pad(**BIG)))
    for name, (_, margin) in want.items():
        np.testing.assert_allclose(got[name][1], margin, rtol=1e-12, err_msg=name)


def test_padded_components_are_missing():
    config = Config(dimension=3, length=4, heads=2, num_prompts=5).pad(**BIG)
    drawn = problem(KEY, config)
    components = metrics(init(KEY, drawn, config), drawn, config)["components"]
    assert np.isfinite(components[:3]).all() and np.isnan(components[3:]).all()
