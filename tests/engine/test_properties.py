"""Properties of runs: what they are of, and what they refuse."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers.quadratic import THEORY, Config

import jaxtheory
from jaxtheory import InputError


def test_properties_of_a_dataset():
    loss = xr.DataArray([[2.0, 0.5], [2.0, np.nan]], dims=("seed", "step"))
    data = xr.Dataset({"loss": loss, "diverged_at": ("seed", [-1, 3])})
    assert jaxtheory.below("loss", 1.0)(data).values.tolist() == [True, False]
    assert jaxtheory.above("loss", 0.4)(data).values.tolist() == [True, False]
    assert jaxtheory.above("loss", 0.5)(data).values.tolist() == [False, False]
    assert str(jaxtheory.above("loss", 0.5)) == "loss > 0.5"
    with pytest.raises(InputError, match=r"above\('los'\): no metric has this name; did you mean"):
        jaxtheory.above("los", 1.0)(data)
    assert jaxtheory.diverged(data).values.tolist() == [False, True]
    at_once = xr.Dataset({"diverged_at": ("seed", [-1, 0, 1])})
    assert jaxtheory.diverged(at_once).values.tolist() == [False, True, True]
    with pytest.raises(InputError, match=r"below\('los'\): no metric has this name; did you mean"):
        jaxtheory.below("los", 1.0)(data)
    wide = data.assign(loss=loss.expand_dims(layer=2))
    with pytest.raises(InputError, match="has the dimension layer too"):
        jaxtheory.below("loss", 1.0)(wide)


def test_a_metric_without_a_value_is_on_neither_side():
    loss = xr.DataArray([0.5, np.nan, np.nan], dims="seed")
    data = xr.Dataset({"loss": loss, "diverged_at": ("seed", [-1, 3, -1])})
    with pytest.raises(InputError, match="it is NaN in 1 of 3 runs that did not diverge"):
        jaxtheory.below("loss", 1.0)(data)
    assert jaxtheory.below("loss", 1.0)(data.isel(seed=[0, 1])).values.tolist() == [True, False]


@pytest.mark.parametrize(
    ("given", "message"),
    [((3, 1.0), "must be a string"), (("loss", "x"), "'x'.: the limit must be a number")],
)
@pytest.mark.parametrize("side", ["below", "above"])
def test_a_mistake_is_one_sentence(given, message, side):
    with pytest.raises(InputError, match=f"{side}.*{message}"):
        getattr(jaxtheory, side)(*given)


def test_a_boundary_of_a_metric_that_is_nan_on_one_side_is_refused():
    """The metric has no value above eta = 1, in runs that are finite."""
    metrics = lambda params, problem, config: {"odd": jnp.where(config.eta < 1, 0.5, jnp.nan)}
    theory = THEORY._replace(metrics=metrics)
    with pytest.raises(InputError, match=r"below\('odd'\): it is NaN in 6 of 16 runs"):
        jaxtheory.boundary(
            *(theory, Config()),
            along="eta",
            between=(0.1, 3.0),
            when=jaxtheory.below("odd", 0.2),
            seeds=2,
            steps=3,
        )
