"""A network is a theory as any other: alone, in sweeps, in stores and on workers."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from helpers.walk_task import SMALL, TASK

import jaxtheory
from jaxtheory import InputError
from jaxtheory.code.code_hash import code_hash
from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.planning import planner
from jaxtheory.engine.request.request import read
from jaxtheory.networks import from_flax as from_flax_module
from jaxtheory.networks.from_flax import from_flax
from jaxtheory.theories import random_walk

KEY = jaxtheory.run_key(0, 0)


class Config(random_walk.Config):
    units: jaxtheory.Size = jaxtheory.size(4, "units", "hidden units")
    rate: float = jaxtheory.traced(0.1, "rate", "learning rate", "(0, inf)")
    decay: float = jaxtheory.traced(0.0, "decay", "weight decay", "[0, inf)")
    cap: float = jaxtheory.traced(1.0, "cap", "largest norm of a gradient", "(0, inf)")


class Pooled(nn.Module):
    """An embedding, batch normalization, dropout and a dense layer."""

    states: int
    units: int

    @nn.compact
    def __call__(self, tokens, train):
        x = nn.Embed(self.states, self.units)(tokens)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(self.states)(x)


class Again(nnx.Module):
    """The same in NNX, where dropout and batch normalization follow the mode of the module."""

    def __init__(self, states, units, rngs):
        self.embed = nnx.Embed(states, units, rngs=rngs)
        self.norm = nnx.BatchNorm(units, momentum=0.9, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.dense = nnx.Linear(units, states, rngs=rngs)

    def __call__(self, tokens):
        return self.dense(self.dropout(self.norm(self.embed(tokens))))


def linen(config):
    return Pooled(config.num_states.cap, config.units.cap)


def in_nnx(config, rngs):
    return Again(config.num_states.cap, config.units.cap, rngs)


def decayed(config):
    rule = optax.adamw(lambda t: config.rate / (1 + t), weight_decay=config.decay)
    return optax.chain(optax.clip_by_global_norm(config.cap), rule)


def plain(config):
    return optax.sgd(config.rate)


def pooled(name, module, **more):
    rules = {"adamw": decayed, "sgd": plain}
    return from_flax(name, module, TASK, optimizer=rules, Config=Config, **more)


SIZES = Config(**SMALL)
THEORIES = {
    "linen": pooled("linen", linen, examples=(SIZES,)),
    "nnx": pooled("in_nnx", in_nnx, examples=(SIZES,)),
}
EACH = pytest.mark.parametrize("theory", THEORIES.values(), ids=THEORIES)
STATE = {"linen": "batch_stats", "in_nnx": "state"}


def parts(theory, config=SIZES):
    problem = theory.problem(KEY, config)
    return theory.init(KEY, problem, config), theory.sample(KEY, problem, config), problem


@EACH
def test_it_passes_the_contract_and_its_gradient_is_that_of_autodiff(theory):
    table = jaxtheory.verify(theory, seeds=2)
    assert table.passed, [row for row in table.checks if not row.passed]
    assert {row.source for row in table.checks} >= {"autodiff", "autodiff of loss"}


@EACH
def test_a_wrong_gradient_exceeds_the_bound_of_its_check(theory):
    got, want = from_flax_module._differences(
        KEY, SIZES, (TASK, theory.init, theory.loss, theory.gradient)
    )
    assert 0 < got <= want

    def wrong(params, batch, problem, config):
        slope = theory.gradient(params, batch, problem, config)
        return jax.tree.map(lambda g: 1.01 * g, slope)

    got, want = from_flax_module._differences(KEY, SIZES, (TASK, theory.init, theory.loss, wrong))
    assert got > want


@EACH
def test_the_first_parameters_have_the_default_precision(theory):
    params, _, _ = parts(theory)
    assert set(params) == {"params", STATE[theory.name]}
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(params)} == {"float64"}


@EACH
def test_state_is_carried_and_not_trained(theory):
    params, batch, problem = parts(theory)
    algorithm = theory.algorithms["sgd"]
    state = algorithm.init(KEY, problem, SIZES)
    fast = SIZES.replace(rate=0.5)
    one = algorithm.step(KEY, 0, state, batch, problem, SIZES)
    two = algorithm.step(KEY, 0, state, batch, problem, fast)
    three = algorithm.step(jax.random.key(9), 0, state, batch, problem, SIZES)
    name = STATE[theory.name]
    same = lambda a, b: jax.tree.all(jax.tree.map(np.array_equal, a, b))
    assert not same(one.params[name], params[name])  # they follow the batch
    assert same(one.params[name], two.params[name])  # at any learning rate
    assert not same(one.params["params"], two.params["params"])
    assert not same(one.params["params"], three.params["params"])  # another dropout mask
    embedded = jax.tree.leaves(params["params"])
    assert len(embedded) == 5
    statistics = jax.tree.leaves(one.params[name])
    tokens = TASK.inputs(batch, problem, SIZES)
    for leaf in embedded:
        if leaf.shape == (6, 4) and not np.array_equal(leaf, np.zeros((6, 4))):
            values = np.asarray(leaf)[np.asarray(tokens)].reshape(-1, 4)
            mean = 0.1 * values.mean(axis=0)
            assert any(np.allclose(mean, statistic, rtol=1e-5) for statistic in statistics)


@EACH
def test_loss_and_metrics_do_not_draw(theory):
    params, batch, problem = parts(theory)
    values = [theory.loss(params, batch, problem, SIZES) for _ in range(2)]
    assert values[0] == values[1]
    metrics = theory.metrics(params, problem, SIZES)
    assert set(metrics) == {"loss", "accuracy"}
    assert metrics["loss"] == theory.loss(params, problem.test, problem, SIZES)


def test_linen_and_nnx_are_the_same_function():
    one, batch, problem = parts(THEORIES["linen"])
    params, stats = one["params"], one["batch_stats"]
    twin = {
        "params": {
            "embed": params["Embed_0"],
            "norm": params["BatchNorm_0"],
            "dense": params["Dense_0"],
        },
        "state": {"norm": stats["BatchNorm_0"]},
    }
    values = [
        theory.loss(params, batch, problem, SIZES)
        for theory, params in ((THEORIES["linen"], one), (THEORIES["nnx"], twin))
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)


@EACH
def test_runs_of_a_sweep_are_the_runs_alone(theory):
    vary = {"rate": [0.05, 0.1], "decay": [0.0, 0.1], "algorithm": ["adamw", "sgd"]}
    data = jaxtheory.sweep(theory, SIZES, vary=vary, seeds=2, steps=3)
    config = SIZES.replace(rate=0.1, decay=0.1)
    for algorithm in ("adamw", "sgd"):
        run = jaxtheory.simulate(
            theory, config, jaxtheory.run_key(0, 1), steps=3, algorithm=algorithm
        )
        at = {"rate": 0.1, "decay": 0.1, "seed": 1, "algorithm": algorithm}
        for name in ("loss", "accuracy"):
            np.testing.assert_allclose(data[name].sel(at), run.metrics[name], rtol=1e-5)
    losses = data["loss"].sel(algorithm="adamw", step=3)
    assert len(np.unique(losses)) == losses.size  # each field and seed counts
    assert np.all(data["predicted_loss"] == pytest.approx(0.5004, abs=1e-3))


def test_sizes_of_weights_have_a_program_each():
    theory = THEORIES["linen"]
    data = jaxtheory.sweep(theory, SIZES, vary={"units": [2, 3]}, seeds=1, steps=2)
    run = jaxtheory.simulate(theory, SIZES.replace(units=2), KEY, steps=2)
    np.testing.assert_allclose(data["loss"].sel(units=2, seed=0), run.metrics["loss"], rtol=1e-5)
    with pytest.raises(InputError, match=r"units \(units\) is padded to 3, but the weights of a"):
        jaxtheory.sweep(theory, SIZES, vary={"units": [2, 3]}, seeds=1, steps=2, buckets="pad")


def test_a_store_is_read_again_and_weights_and_observables_are_kept(tmp_path):
    theory = THEORIES["nnx"]
    options = {
        "vary": {"rate": [0.1, 0.2]},
        "seeds": 1,
        "steps": 2,
        "save_params": True,
        "observe": {"size": size},
        "store": tmp_path / "store",
    }
    data = jaxtheory.sweep(theory, SIZES, **options)
    again = jaxtheory.sweep(theory, SIZES, **options)
    assert data.identical(again)
    params = jaxtheory.load_params(again, theory=theory, rate=0.2, seed=0)
    run = jaxtheory.simulate(theory, SIZES.replace(rate=0.2), KEY, steps=2)
    kernel = run.params["params"]["dense"]["kernel"]
    np.testing.assert_allclose(params["params"]["dense"]["kernel"], kernel, rtol=1e-5)
    assert float(data["size"].sel(rate=0.2, seed=0, step=2)) == pytest.approx(
        float(np.linalg.norm(kernel)), rel=1e-5
    )


def size(params, _problem, _config):
    return jnp.linalg.norm(params["params"]["dense"]["kernel"])


@EACH
def test_it_travels_to_workers(theory, tmp_path):
    request = read(theory, SIZES, vary={"rate": [0.1, 0.2]}, seeds=1, steps=2)
    chunks = planner.plan_request(request).chunks
    opened = pickling.unpack(pickling.pack(ChunkTask(request), chunks), tmp_path)
    for chunk in chunks:
        got = opened.task(chunk._replace(bucket=opened.buckets[chunk.bucket.number]))
        want = run_chunk(request, chunk)
        assert got.values.keys() == want.values.keys()
        for name in want.values:
            np.testing.assert_array_equal(got.values[name], want.values[name], name)


def test_the_hash_of_a_network_covers_its_module_and_its_optimizer():
    base = code_hash(list(THEORIES["linen"]))
    same = pooled("linen", linen, examples=(SIZES,))
    assert code_hash(list(same)) == base

    class Other(Pooled):
        @nn.compact
        def __call__(self, tokens, train):
            return 2 * super().__call__(tokens, train)

    variant = pooled("linen", lambda config: Other(6, config.units.cap), examples=(SIZES,))
    assert code_hash(list(variant)) != base
    rules = {"adamw": decayed, "sgd": lambda config: optax.sgd(2 * config.rate)}
    faster = from_flax("linen", linen, TASK, optimizer=rules, Config=Config, examples=(SIZES,))
    assert code_hash(list(faster)) != base


class Over(nn.Module):
    """A module with a layer as an attribute."""

    first: nn.Module

    @nn.compact
    def __call__(self, tokens):
        return nn.Dense(6)(nn.tanh(self.first(tokens)))


@pytest.mark.parametrize(
    "network",
    [
        lambda n: nn.Sequential([nn.Embed(6, n), nn.tanh, nn.Dense(6)]),
        lambda n: Over(nn.Embed(6, n)),
        lambda n: Over(nn.Sequential([nn.Embed(6, 4), nn.Dense(n)])),
    ],
)
def test_a_store_has_no_data_of_another_network(network, tmp_path):
    def swept(n, **where):
        module = network(n)
        theory = pooled("net", lambda config: module, examples=(SIZES,))
        return jaxtheory.sweep(theory, SIZES, seeds=1, steps=1, **where)

    first = swept(2, store=tmp_path / "store")
    assert swept(2, store=tmp_path / "store").identical(first)
    with pytest.raises(InputError, match="the code of net has changed"):
        swept(3, store=tmp_path / "store")


def test_another_loss_rebuilds_the_algorithms():
    theory = THEORIES["linen"]

    def loss(params, batch, problem, config):
        return 3 * theory.loss(params, batch, problem, config)

    variant = theory.replace(loss=loss)
    assert list(variant.algorithms) == ["adamw", "sgd"]
    _, batch, problem = parts(theory)
    state = variant.algorithms["sgd"].init(KEY, problem, SIZES)
    new = variant.algorithms["sgd"].step(KEY, 0, state, batch, problem, SIZES)
    slope = theory.gradient(state.params, batch, problem, SIZES)["params"]
    want = jax.tree.map(lambda w, g: w - 0.3 * g, state.params["params"], slope)
    for got, leaf in zip(jax.tree.leaves(new.params["params"]), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(got, leaf, rtol=1e-10, atol=1e-14)
    stats = zip(*(jax.tree.leaves(x.params["batch_stats"]) for x in (state, new)), strict=True)
    assert all(np.array_equal(one, two) for one, two in stats)


def test_a_run_starts_from_given_parameters():
    theory = THEORIES["linen"]
    first = jaxtheory.simulate(theory, SIZES, KEY, steps=2)
    again = jaxtheory.simulate(theory, SIZES, KEY, steps=2, start=first.params)
    assert again.metrics["loss"][0] == pytest.approx(float(first.metrics["loss"][-1]), rel=1e-6)


def wide(config):
    return nn.Sequential([nn.Embed(6, 4), nn.Dense(4)])


def maps_of_two_shapes(config):
    class Two(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            self.sow("intermediates", "attention", jnp.ones((8, 1, 5, 5)))
            self.sow("intermediates", "attention", jnp.ones((8, 2, 5, 5)))
            return nn.Embed(6, 6)(tokens)

    return Two()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"module": wide},
            r"mine: the module returns \(8, 5, 4\) on inputs \(8, 5\), but the loss of the task "
            r"walk takes \(8, 5, 6\)",
        ),
        ({"task": "random_wlak"}, r"mine: task = 'random_wlak', expected a jaxtheory.Task"),
        ({"task": 3}, r"mine: task is a int, expected a jaxtheory.Task"),
        ({"optimizer": 3}, r"mine: optimizer is a int, expected a function of the config"),
        ({"optimizer": {"a": 3}}, r"mine: optimizer\['a'\] is a int, expected a function"),
        ({"optimizer": {}}, r"mine: optimizer = {}: must have at least one entry"),
        ({"optimizer": lambda config: 3}, r"optimizer\(config\) is a int, expected a function"),
        ({"module": nn.Dense(3)}, r"mine: module is a Dense, expected a function of the config"),
        ({"module": lambda config: 3}, r"mine: module\(config\) is a int, expected a flax.linen"),
        ({"module": lambda config, rngs: 3}, r"mine: module\(config, rngs\) is a int, expected a"),
        ({"module": lambda: 3}, r"mine: module takes 0 arguments, expected a function of the"),
        ({"Config": jaxtheory.Config}, r"mine: Config = <class .*Config'>: must be a subclass"),
        ({"name": ""}, r"name = '': the name of a theory must be a non-empty string"),
        ({"module": lambda config: nn.Embed(6, config.units)}, r"mine.module: .*write size.cap"),
    ],
)
def test_bad_input_is_one_sentence(changes, message):
    arguments = {
        "name": "mine",
        "module": linen,
        "task": TASK,
        "optimizer": plain,
        "Config": Config,
        "examples": (SIZES,),
    }
    with pytest.raises(InputError, match=message) as error:
        options = arguments | changes
        from_flax(options.pop("name"), options.pop("module"), options.pop("task"), **options)
    assert len(str(error.value).splitlines()) == 1


def test_maps_that_cannot_be_stacked_are_refused():
    with pytest.raises(InputError, match=r"mine: it sows attention maps of shapes \(8, 1, 5, 5\)"):
        from_flax(
            "mine", maps_of_two_shapes, TASK, optimizer=plain, Config=Config, examples=(SIZES,)
        )


class Sowing(nnx.Module):
    """Two layers of attention in a list, with batch normalization and dropout."""

    def __init__(self, states, rngs):
        self.embed = nnx.Embed(states, 4, rngs=rngs)
        self.layers = nnx.List([nnx.Linear(4, 4, rngs=rngs) for _ in range(2)])
        self.norm, self.dropout = nnx.BatchNorm(4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
        self.head = nnx.Linear(4, states, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            maps = nnx.softmax(jnp.einsum("bqd,bkd->bqk", layer(x), x))[:, None]
            self.sow(nnx.Intermediate, "attention", maps)
            x = self.dropout(self.norm(x + jnp.einsum("bhqk,bkd->bqd", maps, x)))
        return self.head(x)


@pytest.mark.slow
def test_attention_of_saved_weights_is_that_of_the_run(tmp_path):
    module = lambda config, rngs: Sowing(config.num_states.cap, rngs)
    theory = from_flax("sowing", module, TASK, optimizer=plain, Config=Config, examples=(SIZES,))
    options = {
        "vary": {"rate": [0.1, 0.2]},
        "seeds": 2,
        "steps": 2,
        "dtype": "float64",
        "save_params": True,
        "observe": {"attention": jaxtheory.observables.attention},
        "dims": {"attention": ("layer", "head", "query", "key")},
        "store": tmp_path / "store",
    }
    jaxtheory.sweep(theory, SIZES, **options)
    data = jaxtheory.open_store(tmp_path / "store")
    where = {"rate": 0.2, "seed": 1}
    params = jaxtheory.load_params(data, theory=theory, **where)
    problem = jaxtheory.load_problem(data, theory=theory, **where)
    config = SIZES.replace(rate=0.2)
    maps = jaxtheory.observables.attention(params, problem, config, theory=theory)
    want = data.attention.sel(**where).isel(step=-1)
    assert want.sizes == {"layer": 2, "head": 1, "query": 5, "key": 5}
    np.testing.assert_allclose(maps, want, rtol=1e-9)
    np.testing.assert_allclose(maps.sum(axis=-1), 1, rtol=1e-12)
    test = problem.test  # by hand, for the first layer
    weights = params["params"]
    x = np.asarray(weights["embed"]["embedding"])[np.asarray(test.s)]
    first = jax.tree.map(np.asarray, weights["layers"][0])
    scores = np.einsum("bqd,bkd->bqk", x @ first["kernel"] + first["bias"], x)
    rows = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(
        maps[0, 0], np.einsum("b,bqk->qk", test.weight, rows), rtol=1e-6, atol=1e-9
    )


def test_attention_of_a_network_without_maps_is_refused():
    with pytest.raises(InputError, match="linen: the network keeps no attention maps; let it sow"):
        jaxtheory.sweep(
            THEORIES["linen"],
            SIZES,
            steps=1,
            observe={"attention": jaxtheory.observables.attention},
        )


@pytest.mark.slow
def test_attention_without_test_sequences_is_over_a_drawn_batch():
    bare = TASK._replace(
        problem=lambda key, config: TASK.problem(key, config)._replace(test=None),
        metrics=lambda outputs, maps, problem, config: {},
        optimal=lambda problem, config: {},
        dims={},
    )
    theory = jaxtheory.networks.transformer(bare)
    config = theory.Config(**SMALL, depth=1, heads=2, width=4)
    problem = theory.problem(KEY, config)
    params = theory.init(KEY, problem, config)
    attention = jaxtheory.observables.attention
    with pytest.raises(InputError, match="there are no test sequences; pass key= to draw a batch"):
        attention(params, problem, config, theory=theory)
    maps = attention(params, problem, config, theory=theory, key=KEY)
    assert maps.shape == (1, 2, 5, 5)


@pytest.mark.slow
def test_meanings_of_metrics_reach_the_dataset():
    task = jaxtheory.tasks.random_walk
    theory = jaxtheory.networks.transformer(task)
    config = theory.Config(length=5, num_sequences=8, width=4, heads=1, depth=1, mlp_ratio=1)
    data = jaxtheory.sweep(theory, config, seeds=1, steps=1)
    meaning = "cross-entropy under the true law of the next state, nats"
    assert data.loss.attrs["long_name"] == meaning
    assert data.predicted_loss.attrs["long_name"] == f"best possible value: {meaning}"
    assert data.accuracy.attrs["long_name"].startswith("mean probability of the predicted state")
    data = jaxtheory.sweep(THEORIES["linen"], SIZES, seeds=1, steps=1)
    assert data.loss.attrs["long_name"] == "loss of the task, on the test sequences"


class Normed(nn.Module):
    """A layer whose variables have slashes in their names."""

    @nn.compact
    def __call__(self, tokens, train):
        return nn.SpectralNorm(nn.Dense(6))(nn.Embed(6, 4)(tokens), update_stats=train)


@pytest.mark.slow
def test_slashes_in_names_of_variables_are_written_otherwise(tmp_path):
    theory = pooled("normed", lambda config: Normed(), examples=(SIZES,))
    where = {"store": tmp_path / "store", "save_params": True}
    data = jaxtheory.sweep(theory, SIZES, seeds=1, steps=1, **where)
    assert "params_batch_stats_SpectralNorm_0_Dense_0_kernel_sigma" in data
    params = jaxtheory.load_params(jaxtheory.open_store(tmp_path / "store"), theory=theory, seed=0)
    assert "Dense_0/kernel/sigma" in params["batch_stats"]["SpectralNorm_0"]


@pytest.mark.slow
def test_an_optimizer_that_draws_has_noise_of_the_run():
    rules = {"noisy": lambda c: optax.noisy_sgd(c.rate, 0.3, 0.55, 0)}
    module = lambda config: nn.Embed(6, 6)
    theory = from_flax("net", module, TASK, optimizer=rules, Config=Config, examples=(SIZES,))
    fixed = jaxtheory.simulate(theory, SIZES, KEY, steps=0)
    options = {"start": fixed.params, "problem": fixed.problem, "steps": 1}
    runs = [jaxtheory.simulate(theory, SIZES, jaxtheory.run_key(0, k), **options) for k in (0, 1)]
    one, two = (run.params["params"]["embedding"] for run in runs)
    assert np.abs(one - two).min() > 1e-6
