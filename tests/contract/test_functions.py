"""Every theory's functions compose with jit, vmap, grad and jvp; the closed gradient is autodiff's;
programs lower for every backend.
"""

import inspect

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers.contract import ALGORITHMS, CASES, config_of, drawn, first, material

import jaxtheory
from jaxtheory.core.config import canonical, fields
from jaxtheory.theories import get, names

# float32: allowed |closed - autodiff| over the largest entry; both are float32, so this is rounding
# of sums over batches and tokens
FLOAT32 = {
    "random_walk": 2e-5,
    "attention_pruning": 2e-4,
    "contextual_bigram": 2e-5,
    "nearest_neighbor": 2e-5,
    "group_sparse": 2e-5,
    "low_rank": 2e-5,
}


@pytest.mark.parametrize("name", names())
def test_conforms(name):
    jaxtheory.conform(get(name))
    assert get(name).examples and get(name).checks


def worst(got, want):
    """The largest difference over the largest entry, per array."""
    gaps = [
        (np.max(np.abs(g - w), initial=0.0), np.max(np.abs(w), initial=0.0))
        for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True)
    ]
    top = max(w for _, w in gaps)
    return max(g for g, _ in gaps) / top if top else max(g for g, _ in gaps)


def closed_and_autodiff(theory, config):
    """material -> (closed gradient, autodiff's)."""
    return lambda problem, batch, params: (
        theory.gradient(params, batch, problem, config),
        jax.grad(theory.loss)(params, batch, problem, config),
    )


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradient_is_autodiff_under_jit_of_vmap(name, i):
    got, want = jax.jit(jax.vmap(closed_and_autodiff(get(name), config_of(name, i))))(
        *drawn(name, i)
    )
    assert jax.tree.structure(got) == jax.tree.structure(want)
    assert worst(*jax.device_get((got, want))) <= 1e-11


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradient_in_float32(name, i):
    material = drawn(name, i)
    with jax.enable_x64(False):
        both = jax.jit(closed_and_autodiff(get(name), config_of(name, i, np.float32)))
        got, want = both(*first(material, np.float32))
        assert all(x.dtype == jnp.float32 for x in jax.tree.leaves(got))
    assert worst(*jax.device_get((got, want))) <= FLOAT32[name]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_loss_composes(name, i):
    """vmap over params and over every real config leaf equals a loop; jvp equals <gradient,
    direction>.
    """
    theory, config = get(name), config_of(name, i)
    problem, batch, params = first(drawn(name, i))
    loss = jax.jit(lambda params, config: theory.loss(params, batch, problem, config))
    scaled = jax.tree.map(lambda x: jnp.stack([x, 0.5 * x]), params)
    several = jax.vmap(loss, in_axes=(0, None))(scaled, config)
    alone = [loss(jax.tree.map(lambda x, k=k: x[k], scaled), config) for k in range(2)]
    np.testing.assert_allclose(several, alone, rtol=1e-12)

    traced = [n for n, f in fields(type(config)).items() if f.kind == "traced" and not f.integer]
    stacked = config.replace(**{n: np.stack([getattr(config, n)] * 2) for n in traced})
    axes = jax.tree.map(lambda x: 0 if np.ndim(x) else None, stacked)
    over_config = jax.vmap(loss, in_axes=(None, axes))(params, stacked)
    np.testing.assert_allclose(over_config, np.stack([loss(params, config)] * 2), rtol=1e-12)

    direction = jax.tree.map(jnp.cos, params)
    _, slope = jax.jvp(lambda p: loss(p, config), (params,), (direction,))
    gradient = jax.jit(lambda params: theory.gradient(params, batch, problem, config))(params)
    want = sum(
        jnp.vdot(g, d)
        for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True)
    )
    np.testing.assert_allclose(slope, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "i", "algorithm"), ALGORITHMS)
def test_step_and_metrics_lower_for_every_backend(name, i, algorithm):
    theory = get(name)
    alg = theory.algorithms[algorithm]
    with jax.enable_x64(False):
        config = canonical(theory.examples[i], np.float32)
        problem = jax.eval_shape(theory.problem, jax.random.key(0), config)
        state = jax.eval_shape(alg.init, jax.random.key(0), problem, config)

        def program(key, state, problem, config):
            batch = (alg.sample or theory.sample)(jax.random.wrap_key_data(key), problem, config)
            new = alg.step(
                jax.random.wrap_key_data(key), jnp.int32(0), state, batch, problem, config
            )
            return new, theory.metrics(alg.params(new, problem, config), problem, config)

        shapes = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), (state, problem, config)
        )
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        exported = jax.export.export(
            jax.jit(lambda key, *flat: jax.tree.leaves(program(key, *rebuild(flat)))),
            platforms=("cpu", "cuda", "tpu"),
        )
        leaves, tree = jax.tree.flatten(shapes)
        rebuild = lambda flat: jax.tree.unflatten(tree, flat)
        assert set(exported(key, *leaves).platforms) == {"cpu", "cuda", "tpu"}


@pytest.mark.parametrize(("name", "i"), CASES)
def test_predictions_name_metrics_and_dims_match(name, i):
    theory, config = get(name), config_of(name, i)

    def everything(key):
        problem, _, params = material(theory, config, key)
        steps = np.arange(4)
        seen = theory.metrics(params, problem, config), theory.analyses(params, problem, config)
        return *seen, theory.predict(problem, config, steps), theory.baselines(problem, config)

    seen, final, curves, fixed = jax.eval_shape(everything, jax.random.key(0))
    assert {n.partition(":")[0] for n in curves} <= set(seen)
    assert all(v.shape[0] == 4 for v in curves.values())
    values = {**seen, **final}
    assert set(fixed) <= set(values)
    for n, value in values.items():
        shape = list(value.shape)
        if n in fixed:
            shape[-1] += fixed[n].shape[-1]
        assert len(theory.dims.get(n, ())) == len(shape), n
        for dim, length in zip(theory.dims.get(n, ()), shape, strict=True):
            assert len(theory.coords(config).get(dim, range(length))) == length, n


TAKEN = {
    name
    for method in ("sel", "isel", "interp", "reduce")
    for name in inspect.signature(getattr(xr.Dataset, method)).parameters
}
TAKEN |= {name for name in dir(xr.Dataset) if not name.startswith("_")}


def words_of(theory):
    """Every name a theory gives to a dimension or a variable; fields of a Config, which are
    dimensions as axes, keep their names.
    """
    config = jax.tree.map(jnp.asarray, canonical(theory.examples[0], np.float64))

    def everything(key):
        problem, _, params = material(theory, config, key)
        return theory.metrics(params, problem, config), theory.analyses(params, problem, config)

    outputs = {name for group in jax.eval_shape(everything, jax.random.key(0)) for name in group}
    return outputs | {dim for dims in theory.dims.values() for dim in dims}


@pytest.mark.parametrize("name", names())
def test_no_name_is_taken_by_xarray(name):
    """`data.sel(method="wanda")` would be an option of sel and select nothing; `data.size` would be
    a number.
    """
    assert words_of(get(name)) & TAKEN == set()


def test_a_taken_name_is_seen():
    theory = get("random_walk")
    named = theory._replace(
        dims={"accuracy": ("method",)}, metrics=lambda params, problem, config: {"sizes": 0.0}
    )
    assert words_of(named) & TAKEN == {"method", "sizes"}
