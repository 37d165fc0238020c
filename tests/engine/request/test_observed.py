"""Observables and weights of a sweep: recorded as metrics are, and refused in one sentence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtheory
from jaxtheory import InputError
from jaxtheory.cli.templates import template
from jaxtheory.theories import group_sparse, random_walk
from tests.helpers.quadratic import THEORY, Config


def square(params, problem, config):
    """Square of the parameter."""
    return params**2


def pair(params, problem, config):
    return jnp.stack([params, config.eta * params])


def test_an_observable_is_recorded_as_a_metric():
    data = jaxtheory.sweep(
        THEORY,
        Config(),
        vary={"eta": [0.1, 0.2]},
        seeds=3,
        steps=4,
        observe={"square": square, "pair": pair},
        dims={"pair": ("which",)},
    )
    assert data.square.dims == ("eta", "seed", "step")
    assert data.pair.dims == ("eta", "seed", "step", "which")
    np.testing.assert_array_equal(data.square, data.distance**2)
    np.testing.assert_allclose(data.pair[..., 1], data.eta * data.pair[..., 0], rtol=1e-6)
    assert data.square.attrs["long_name"] == "Square of the parameter"


def test_an_observable_has_steps_of_its_own():
    data = jaxtheory.sweep(
        THEORY,
        Config(),
        steps=4,
        observe={"square": square},
        record={"square": [0, 3], "distance": 1},
    )
    assert np.flatnonzero(data.square[0].notnull()).tolist() == [0, 3]
    assert data.distance.notnull().all()


def test_weights_at_the_end_and_at_steps():
    end = jaxtheory.sweep(THEORY, Config(), seeds=2, steps=4, save_params=True)
    assert end.params_value.dims == ("seed",)
    np.testing.assert_array_equal(abs(end.params_value), end.distance[:, -1])
    some = jaxtheory.sweep(THEORY, Config(), seeds=2, steps=4, record=2, save_params=[1, 4])
    assert some.step.values.tolist() == [0, 1, 2, 4]
    assert np.flatnonzero(some.params_value[0].notnull()).tolist() == [1, 3]
    assert np.flatnonzero(some.distance[0].notnull()).tolist() == [0, 2, 3]
    trajectory = jaxtheory.sweep(THEORY, Config(), seeds=2, steps=4, save_params=1)
    np.testing.assert_array_equal(abs(trajectory.params_value), trajectory.distance)


def test_weights_are_nan_beyond_the_sizes_of_a_point():
    data = jaxtheory.sweep(
        random_walk,
        random_walk.Config(length=13),
        vary={"K": [3, 5]},
        steps=2,
        save_params=True,
        buckets="pad",
    )
    assert data.params_V.dims == ("num_states", "seed", "values", "K")
    finite = data.params_V.notnull().values
    assert finite[0, 0, :3, :3].all() and finite[0].sum() == 9 and finite[1].all()


def test_additions_do_not_change_other_results():
    options = {"vary": {"eta": [0.1, 30.0]}, "seeds": 2, "steps": 4}
    plain = jaxtheory.sweep(THEORY, Config(), **options)
    more = jaxtheory.sweep(
        THEORY, Config(), **options, save_params=True, observe={"square": square}
    )
    for name in plain.data_vars:
        np.testing.assert_array_equal(plain[name], more[name])
    assert plain.attrs["theory_digest"] == more.attrs["theory_digest"]


def test_weights_count_in_the_plan():
    config = group_sparse.Config(group_dim=30)
    bare = jaxtheory.plan(group_sparse, config, seeds=8, steps=4)
    params_plan = jaxtheory.plan(group_sparse, config, seeds=8, steps=4, save_params=True)
    dim, groups = 30, config.num_groups.cap
    entries = dim + groups + (dim + groups) ** 2
    more = sum(b.result_bytes for b in params_plan.buckets) - sum(
        b.result_bytes for b in bare.buckets
    )
    assert more >= 8 * 4 * entries


def draws_numbers(params, problem, config):
    return jax.random.normal(jax.random.key(0)) + params


def changes(params, problem, config):
    return params + np.random.default_rng().normal()


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({"observe": {"distance": square}}, "'distance' is the name of a metric"),
        ({"observe": {"seed": square}}, "'seed' is the name of an axis"),
        ({"observe": {"eta": square}, "vary": {"eta": [1]}}, "'eta' is the name of an axis"),
        ({"observe": {"params_x": square}}, "the weights of quadratic; choose another"),
        *(
            ({"observe": {name: square}}, message)
            for name, message in [
                *((label, ": must not ") for label in ("a/b", "", "..", "a\x1b", "\ud800", "a:b")),
                ("zarr.json", "is the name of a file"),
                *((label, "is a method of datasets") for label in ("map", "rank", "mean")),
                ("predicted_distance", "is the name of"),
                ("x" * 300, "has 300 bytes"),
                (5, "is a int, expected a name"),
            ]
        ),
        *(
            (
                {"observe": {"pair": pair}, "dims": {"pair": names}},
                message,
            )
            for names, message in [
                *(((axis,), "dims['pair']: ") for axis in ("a/b", "", "..", "a\x1b", "\ud800")),
                *(((axis,), "is the name of an axis") for axis in ("step", "seed", "pair")),
            ]
        ),
        ({"observe": {"pair": pair}, "dims": {"pair": 5}}, "must be a tuple of names"),
        ({"observe": {"a": draws_numbers}}, "observe['a'] draws random numbers"),
        ({"observe": {"a": changes}}, "observe['a'] differs from call to call"),
        ({"observe": {"a": lambda p, q, c: {"x": p}}}, "returns a dict, but must return one array"),
        ({"observe": {"a": lambda p, q, c: p.foo}}, "observe['a']: AttributeError"),
        ({"observe": {"a": lambda p, q, c: float(p)}}, "observe['a']: ConcretizationTypeError"),
        (
            {"observe": {"a": lambda p: p}},
            "observe['a'] takes (p), but is called with (params, problem, config)",
        ),
        (
            {"observe": {"a": jaxtheory.observables.sharpness}},
            "if sharpness returns one, write sharpness(...)",
        ),
        ({"observe": [square]}, "must be a dictionary {name: function}"),
        ({"dims": {"a": ("b",)}}, "dims: names the dimensions of observables"),
        ({"observe": {"a": square}, "dims": {"b": ()}}, "dims: unknown observable 'b'"),
        ({"observe": {"a": pair}, "dims": {"a": ("b", "c")}}, "dims['a'] names 2 dimensions"),
        ({"observe": {"a": pair}, "dims": {"a": "b"}}, "must be a tuple of names"),
        ({"save_params": "end"}, "save_params = 'end': must be True"),
        ({"save_params": [9]}, "save_params = [9]: must have at least one step"),
        ({"save_params": {"w": 1}}, "save_params = {'w': 1}: must be True"),
    ],
)
def test_a_wrong_observable_is_one_sentence(options, phrase):
    with pytest.raises(jaxtheory.InputError) as error:
        jaxtheory.sweep(THEORY, Config(), steps=4, **options)
    message = str(error.value)
    assert phrase in message and "\n" not in message and "\x1b" not in message


def noisy(params, problem, config):
    return {"error": jnp.sum(params.weights) + jax.random.normal(jax.random.key(0))}


def of_problem(params, problem, config):
    key = jax.random.fold_in(jax.random.key(0), problem.mean[0].astype(int))
    return {"error": jax.jit(jax.random.normal)(key)}


NOISY = {
    "metrics": noisy,
    "analyses": lambda params, problem, config: {
        "end": jax.lax.scan(lambda c, k: (c + jax.random.uniform(k), c), 0.0, KEYS)[0]
    },
}
KEYS = jax.random.split(jax.random.key(1), 3)


@pytest.mark.parametrize("slot", NOISY)
def test_equal_noise_in_metrics_is_refused_as_in_an_observable(slot):
    theory = template.THEORY._replace(**{slot: NOISY[slot]})
    config = template.Settings(dimension=3, batch_size=2)
    with pytest.raises(InputError, match=rf"template\.{slot} draws random numbers from a key of"):
        jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 0), steps=1)
    drawn = template.THEORY._replace(metrics=of_problem)
    assert jaxtheory.sweep(drawn, config, steps=1, seeds=2).sizes["seed"] == 2
