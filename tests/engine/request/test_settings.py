"""Settings of JAX under which a sweep computes or is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, run_key, simulate, sweep
from jaxtheory.engine.request import settings


def test_dtypes_in_one_process():
    wide = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float64")
    narrow = simulate(THEORY, Config(), run_key(0, 0), steps=5, dtype="float32")
    assert wide.metrics["loss"].dtype == np.float64 and narrow.metrics["loss"].dtype == np.float32
    assert sweep(THEORY, Config(), steps=2, dtype="float32").loss.dtype == np.float32


def test_inside_a_transformation_one_line_says_so():
    def loss(eta):
        return sweep(THEORY, Config(learning_rate=eta), steps=3).loss.values[-1]

    def swept(eta):
        return jnp.asarray(sweep(THEORY, Config(), vary={"eta": [eta]}, steps=3).loss.values)

    def ran(eta):
        return simulate(THEORY, Config(learning_rate=eta), run_key(0, 0), steps=3).metrics["loss"][
            -1
        ]

    for function in (loss, swept, ran):
        for transformed, at in (
            (jax.jit(function), 0.1),
            (jax.grad(function), 0.1),
            (jax.vmap(function), jnp.array([0.1, 0.2])),
        ):
            with pytest.raises(
                InputError, match="cannot be called inside jit, vmap or grad"
            ) as error:
                transformed(at)
            assert "\n" not in str(error.value)


def test_debug_nans_makes_a_diverging_run_an_error_of_one_line():
    options = {"vary": {"eta": [0.1, 1e200]}, "steps": 30, "record": 10, "dtype": "float64"}
    with jax.debug_nans(True):
        assert np.isfinite(sweep(THEORY, Config(), steps=3, dtype="float64").loss).all()
        with pytest.raises(InputError, match="jax_debug_nans is on") as error:
            sweep(THEORY, Config(), **options)
    assert (
        "\n" not in str(error.value) and (sweep(THEORY, Config(), **options).diverged_at >= 0).any()
    )


def test_emitters_are_chosen_only_where_xla_has_others(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    for version, chosen in (((0, 11, 0), True), ((0, 11, 1), False)):
        monkeypatch.setattr(settings.jaxlib.version, "__version_info__", version)
        assert ("xla_cpu_use_fusion_emitters" in settings.compiler_options(level=2)) == chosen
