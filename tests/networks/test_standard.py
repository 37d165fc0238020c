"""The standard Transformer as a theory: its config, its optimizers, a run and a sweep."""

import jax
import numpy as np
import optax
import pytest
from helpers.walk_task import SMALL, TASK

import jaxtheory
from jaxtheory import InputError, networks
from jaxtheory.code import code_hash
from jaxtheory.networks.linen_module import usual_promotion

TINY = {**SMALL, "depth": 1, "heads": 2, "width": 4, "mlp_ratio": 1}


@pytest.fixture(scope="module")
def theory():
    config = networks.transformer_config(TASK)(**TINY)
    return networks.transformer(TASK, examples=(config,))


def test_the_config_is_one_class_per_task():
    assert networks.transformer_config(TASK) is networks.transformer_config(TASK)
    assert issubclass(networks.transformer_config(TASK), TASK.Config)


def test_it_passes_verification(theory):
    assert jaxtheory.verify(theory, seeds=1).passed


def test_it_learns_the_walk(theory):
    config = theory.Config(**TINY | {"num_sequences": 1000, "width": 8}, rate=0.03, horizon=200)
    run = jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 0), steps=150)
    assert run.metrics["loss"][0] > 1.5
    assert abs(run.metrics["loss"][-1] - 0.5004) < 0.15
    assert abs(run.metrics["accuracy"][-1] - 0.8) < 0.05


def test_each_option_and_traced_field_counts_in_a_sweep(theory):
    config = theory.Config(**TINY)
    plain = jaxtheory.sweep(
        theory, config, vary={"rate": [0.01, 0.02], "wd": [0.0, 0.5]}, seeds=1, steps=3
    )
    last = plain["loss"].isel(step=-1)
    assert len(np.unique(last)) == 4
    heads = jaxtheory.sweep(theory, config, vary={"heads": [1, 2]}, seeds=1, steps=1)
    maps = heads["parent"].isel(step=-1, seed=0, layer=0)
    assert np.isnan(maps.sel(heads=1)).values.tolist() == [False, True]
    assert not np.any(np.isnan(maps.sel(heads=2).values))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: networks.transformer("random_wlak"), "task = 'random_wlak', expected a jaxtheory"),
        (lambda: networks.transformer_config(3), "task is a int, expected a jaxtheory.Task"),
    ],
)
def test_what_is_not_a_task_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_field_of_the_same_name_is_refused():
    class Config(TASK.Config):
        width: float = jaxtheory.traced(1.0, "omega", "frequency", "(0, inf)")

    with pytest.raises(InputError, match="the config of the task walk has a field width, which is"):
        networks.transformer_config(TASK._replace(Config=Config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 10, "heads": 4}, "width = 10: must be divisible by heads = 4; set width = 8"),
        ({"norm": "batch"}, r"norm \(norm\) = 'batch': choose one of 'pre-layernorm'"),
        ({"rate": 0.0}, r"rate \(rate\) = 0.0: must be a number in \(0, inf\)"),
    ],
)
def test_invalid_settings_are_named(theory, changes, message):
    config = theory.Config(**TINY | changes)
    with pytest.raises(InputError, match=message):
        jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 0), steps=1)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'transfomer'"):
        networks.transfomer  # noqa: B018
    assert "Transformer" in dir(networks)


def kernels(params):
    """True for the weights of dense layers, which Flax calls kernel."""
    return {
        name: kernels(child) if isinstance(child, dict) else name == "kernel"
        for name, child in params.items()
    }


def test_a_run_is_that_of_a_plain_loop_of_flax_and_optax(theory):
    config = theory.Config(**TINY, rate=0.01, horizon=50, wd=0.05)
    key = jaxtheory.run_key(0, 3)
    run = jaxtheory.simulate(theory, config, key, steps=6, dtype="float64")
    network = networks.Transformer(
        outputs=6, vocabulary=6, depth=1, heads=2, width=4, mlp_ratio=1, causal=True
    )
    warm, cosine = optax.linear_schedule(0.001, 0.01, 9), optax.cosine_decay_schedule(1.0, 50)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(lambda t: warm(t) * cosine(t), weight_decay=0.05, mask=kernels),
    )

    def loss(params, batch):
        logits = network.apply(params, batch.s)[:, -1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch.y).mean()

    losses = []
    with usual_promotion():
        problem = TASK.problem(jax.random.fold_in(key, 0), config)
        drawn = jax.random.split(jax.random.fold_in(key, 1))[0]
        params = network.init({"params": drawn}, problem.train.s)
        params = jax.tree.map(lambda x: x.astype(float), params)
        memory = optimizer.init(params)
        for _ in range(7):
            losses.append(float(loss(params, problem.test)))
            update, memory = optimizer.update(jax.grad(loss)(params, problem.train), memory, params)
            params = optax.apply_updates(params, update)
    np.testing.assert_allclose(run.metrics["loss"], losses, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["decoder", "standard", "optimizer", "linen_module", "modes", "from_flax"]
)
def test_an_edit_of_its_modules_changes_the_hash(theory, name, monkeypatch):
    before, text_of = code_hash.code_hash(list(theory)), code_hash.source.text_of
    edited = lambda module: text_of(module) + "edited = 1\n" * module.endswith(f".{name}")
    monkeypatch.setattr(code_hash.source, "text_of", edited)
    assert code_hash.code_hash(list(theory)) != before
