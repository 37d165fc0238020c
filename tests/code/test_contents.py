"""Every object counts by its contents, or is refused in one line that names it."""

import enum
import functools
import itertools
import os
import random
import socket
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import flax.linen as nn
import jax
import jax.experimental.sparse
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest
import xarray as xr
from flax import nnx
from helpers.kinds import KEPT, KINDS, Net, Property, Silent, frame, labeled, module

from jaxtheory import InputError
from jaxtheory.code.code_hash import array_hash, code_hash


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_counts_by_its_contents(kind):
    make = KINDS[kind]
    one, same, variant = make(2), make(2), make(3)
    assert code_hash([one]) == code_hash([same]) != code_hash([variant])
    assert code_hash(lambda: one) == code_hash(lambda: same) != code_hash(lambda: variant)
    assert code_hash([one]) == code_hash([one])


EACH = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
from helpers.kinds import KINDS
from jaxtheory.code.code_hash import code_hash
for kind in KINDS if sys.argv[1:] == ["forward"] else reversed(KINDS):
    print(kind, code_hash(KINDS[kind](2)), sep=":")
"""


def test_an_object_has_the_same_hash_in_every_process():
    def hashes(seed, order):
        paths = os.pathsep.join(str(Path(__file__).parents[k]) for k in (1, 2))
        text = subprocess.run(
            [sys.executable, "-c", EACH, order],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        ).stdout
        return sorted(text.splitlines())

    one, twin = hashes("1", "forward"), hashes("2", "backward")
    assert len(one) == len(KINDS)
    assert one == twin


X, KEY = jnp.ones((1, 2)), jax.random.key(0)


def use_linen(layer):
    return layer.apply(layer.init(KEY, X), X)


def use_optimizer(optimizer):
    params = {"a": jnp.ones(2), "b": jnp.ones(3)}
    state = optimizer.init(params)
    optimizer.update(params, state, params)
    return jax.jit(optimizer.update)(params, state, params)


def use_of_model(f):
    return f(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), X)


def use_ruled(f):
    return jax.grad(f)(1.0, 2)


def use_schedule(schedule):
    return schedule(3), jax.jit(schedule)(3)


def use_series(series):
    series.index.get_loc(1)
    series.index.is_unique  # noqa: B018
    series.groupby(level=0).mean()
    return series.mean()


def use_array(array):
    array.dt if array.dtype.kind == "M" else array.str  # noqa: B018
    array.sel(x=1).attrs  # noqa: B018
    array.coords["x"].attrs  # noqa: B018
    return array.max()


USES = {
    "linen": (lambda: nn.Sequential([nn.Dense(4)]), lambda m: m.init(KEY, X)),
    "linen, own": (lambda: Net(nn.Dense(4)), lambda m: m.apply(m.init(KEY, X), X)),
    "linen, bound": (lambda: Net(nn.Dense(4)), lambda m: m.bind(m.init(KEY, X))(X)),
    "nnx": (lambda: nnx.Linear(2, 3, rngs=nnx.Rngs(0)), lambda m: m(X)),
    "nnx.jit": (lambda: nnx.Linear(2, 3, rngs=nnx.Rngs(0)), lambda m: nnx.jit(lambda m: m(X))(m)),
    "nnx.grad": (
        lambda: nnx.Linear(2, 3, rngs=nnx.Rngs(0)),
        lambda m: nnx.grad(lambda m: m(X).sum())(m),
    ),
    **{
        kind: (KINDS[kind], use_linen)
        for kind in KINDS
        if kind.startswith(("linen.jit", "linen.remat", "linen.checkpoint", "linen.vmap"))
    },
    **{
        kind: (KINDS[kind], use_linen)
        for kind in ("linen.scan, method", "linen.setup", "linen.map_variables")
    },
    **{
        kind: (KINDS[kind], use_optimizer)
        for kind in KINDS
        if kind.startswith(("optax.inject", "optax.multi", "optax.part", "optax.MultiSteps, f"))
    },
    "optax.masked, function": (KINDS["optax.masked, function"], use_optimizer),
    "optax.scale_by_schedule": (KINDS["optax.scale_by_schedule"], use_optimizer),
    **{
        f"optax.{kind}": (KINDS[f"optax.{kind}"], use_schedule)
        for kind in ("schedule", "join_schedules", "piecewise", "interpolate", "warmup", "sgdr")
    },
    **{
        f"nnx.{kind}, {place}": (KINDS[f"nnx.{kind}, {place}"], lambda m: m(X))
        for kind, place in (("jit", "method"), ("remat", "method"))
    },
    **{f"nnx.{kind}": (KINDS[f"nnx.{kind}"], use_of_model) for kind in ("remat", "vmap")},
    "nnx.scan": (KINDS["nnx.scan"], lambda f: f(jnp.ones(()), jnp.ones(3))),
    "struct.dataclass": (
        KINDS["struct.dataclass"],
        lambda s: (s.replace(n=1), jax.tree.map(jnp.sin, s)),
    ),
    "struct, class": (KINDS["struct, class"], lambda c: c(1).replace(a=2).f()),
    "tree Partial, jit": (KINDS["tree Partial, jit"], lambda f: (f(1.0), jax.tree.leaves(f))),
    "custom_vjp, static": (KINDS["custom_vjp, static"], use_ruled),
    "custom_jvp, static": (KINDS["custom_jvp, static"], use_ruled),
    "equation": (KINDS["equation"], lambda e: (e(X), jax.tree.map(jnp.sin, e))),
    "shard_map": (KINDS["shard_map"], lambda f: f(jnp.ones(2))),
    "optax": (lambda: optax.adam(0.1), lambda o: o.update(X, o.init(X))),
    "optax.MultiSteps": (
        lambda: optax.MultiSteps(optax.sgd(1.0), 2),
        lambda o: o.update(X, o.init(X), X),
    ),
    "Series": (lambda: pd.Series([1.0, 2.0], index=[0, 1]), use_series),
    "DataFrame": (
        lambda: frame(1.0),
        lambda d: (d["a"].mean(), d.describe(), d.loc[0], d.index.is_unique, d.columns.is_unique),
    ),
    "Index": (lambda: pd.Index([1, 2]), lambda i: (i.get_loc(1), i.is_unique, i.argsort())),
    "dates": (lambda: pd.date_range("2020", periods=3), lambda i: (i.inferred_freq, i.month)),
    "MultiIndex": (
        lambda: pd.MultiIndex.from_tuples([(1, 2), (2, 3)]),
        lambda i: (i.get_loc((1, 2)), i.values, i.is_unique),
    ),
    "DataArray": (lambda: xr.DataArray(["a", "b"], dims="x", coords={"x": [0, 1]}), use_array),
    "Dataset": (
        lambda: labeled(1.0).to_dataset(),
        lambda d: (d.d.attrs, d.attrs, d.mean(), d.sel(x=0), d.encoding, d.d.encoding),
    ),
    "interp1d": (KINDS["interp1d"], lambda f: f(0.5)),
    "CubicSpline": (KINDS["CubicSpline"], lambda f: (f(0.5), f.derivative(), f.roots())),
    "UnivariateSpline": (KINDS["UnivariateSpline"], lambda f: (f(0.5), f.integral(0, 1))),
    "BSpline": (KINDS["BSpline"], lambda f: (f(0.5), f.derivative())),
    "Barycentric": (KINDS["Barycentric"], lambda f: (f(0.5), f.derivative(0.5))),
    "grid": (KINDS["grid"], lambda f: f([[0.5]])),
    "LinearND": (KINDS["LinearND"], lambda f: f(0.5, 0.5)),
    "NearestND": (KINDS["NearestND"], lambda f: f(0.5, 0.5)),
    "CloughTocher": (KINDS["CloughTocher"], lambda f: f(0.5, 0.5)),
    "RBF": (KINDS["RBF"], lambda f: f([[0.5, 0.5]])),
    "KDTree": (KINDS["KDTree"], lambda t: t.query([0.5, 0.5])),
    "kde": (KINDS["kde"], lambda f: f(0.5)),
    "distribution": (KINDS["distribution"], lambda d: (d.pdf(0.5), d.mean(), d.entropy())),
    "csr": (KINDS["csr"], lambda m: (m @ m, m.has_sorted_indices, m.has_canonical_format, m.T)),
    "coo": (KINDS["coo"], lambda m: (m @ m, m.tocsr())),
    "masked": (KINDS["masked, mask"], lambda a: (a.fill_value, a.mean(), a[0], a.filled())),
    "vectorize": (KINDS["vectorize"], lambda f: f([1, 2])),
    "vectorize, types": (lambda n: np.vectorize(lambda x: x, otypes=[float]), lambda f: f([1])),
    "poly1d": (KINDS["poly1d"], lambda f: (f(1), f.roots, f.deriv())),
    "jit": (KINDS["jit"], lambda f: f(1.0)),
    "custom_vjp": (KINDS["custom_vjp"], lambda f: jax.grad(f)(1.0)),
    "checkpoint": (KINDS["checkpoint"], lambda f: jax.grad(f)(1.0)),
    "lru_cache": (KINDS["lru_cache"], lambda f: f(1)),
    "singledispatch": (KINDS["singledispatch"], lambda f: (f(1), f(1.0))),
    "cached_property": (lambda: Property(1), lambda p: p.twice),
    "Pattern": (KINDS["Pattern"], lambda p: (p.match("aa"), p.scanner("aa"), hash(p))),
    "Path": (KINDS["Path"], lambda p: (p.parts, p.name, hash(p), str(p))),
    "Fraction": (KINDS["Fraction"], lambda f: (hash(f), float(f))),
    "datetime": (KINDS["datetime"], hash),
    "Enum": (KINDS["Enum"], lambda e: (e.name, hash(e), type(e)(1))),
    "Flag": (lambda: enum.Flag("F", "A B"), lambda f: f(3)),
    "sharding": (KINDS["NamedSharding"], lambda s: (hash(s), s.device_set, repr(s))),
    "Mesh": (lambda: KINDS["NamedSharding"](2).mesh, lambda m: (hash(m), m.shape, m.devices)),
    "FrozenDict": (lambda: nn.FrozenDict(a=1), hash),
    "class": (lambda: Property, lambda c: c(1).twice),
    "linen class": (lambda: Net, lambda c: c(nn.Dense(2)).init(KEY, X)),
}


@pytest.mark.parametrize("kind", USES)
def test_use_changes_no_hash(kind):
    make, use = USES[kind]
    thing = make(2) if make.__code__.co_argcount else make()
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        before = code_hash([thing])
        use(thing)
    assert code_hash([thing]) == before


class Holder:
    def __init__(self, rng):
        self.rng = rng


def opened():
    with open(__file__, encoding="utf-8") as file:
        return file


REFUSED = {
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "BitGenerator": lambda: np.random.PCG64(0),
    "Random": lambda: random.Random(0),
    "bound Generator": lambda: np.random.default_rng(0).normal,
    "global Generator": lambda: np.random.normal,
    "generator": lambda: (x for x in [1]),
    "list_iterator": lambda: iter([1]),
    "zip": lambda: zip([1], [2], strict=True),
    "map": lambda: map(len, []),
    "count": lambda: itertools.count(),
    "cycle": lambda: itertools.cycle([1]),
    "file": opened,
    "StringIO": lambda: __import__("io").StringIO("a"),
    "Lock": threading.Lock,
    "RLock": threading.RLock,
    "Event": threading.Event,
    "Thread": lambda: threading.Thread(target=len),
    "local": threading.local,
    "socket": socket.socket,
    "mmap": lambda: __import__("mmap").mmap(-1, 8),
    "frame": lambda: sys._getframe(),
    "proxy": lambda: weakref.proxy(KEPT.setdefault("proxied", Silent(1))),
    "subprocess": lambda: subprocess.Popen([sys.executable, "-c", ""]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_contents_is_refused_by_name(kind, monkeypatch):
    RNG = REFUSED[kind]()
    with pytest.raises(InputError, match=r"closure variable `RNG` of .*; \w+") as error:
        code_hash(lambda: RNG)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="attribute `rng` of Holder"):
        code_hash([Holder(RNG)])
    monkeypatch.setitem(globals(), "NOISE", RNG)
    with pytest.raises(InputError, match=f"global `NOISE` of {__name__}"):
        code_hash(lambda: NOISE)  # noqa: F821
    if hasattr(RNG, "close"):
        RNG.close()
    if hasattr(RNG, "wait") and hasattr(RNG, "pid"):
        RNG.wait()


def test_a_traced_value_is_refused():
    leak = []
    jax.jit(lambda x: leak.append(x) or x)(1.0)
    with pytest.raises(InputError, match="stored a traced value"):
        code_hash(leak)


def test_large_arrays_are_hashed_once_and_fast():
    large = np.zeros(2**26, np.uint8)
    assert code_hash([large] * 100) != code_hash([large] * 99)
    nested = (1,)
    for _ in range(100):
        nested = (nested, nested)
    assert code_hash(nested) == code_hash(nested)


def test_the_order_of_storage_does_not_count():
    large = np.arange(2**20).reshape(2**9, 2**11)
    assert code_hash([large]) == code_hash([np.asfortranarray(large)])
    assert code_hash([large]) != code_hash([np.asfortranarray(large + 1)])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "U2", "g"])
@pytest.mark.parametrize("shape", [(2100, 1099), (70, 101, 330), (16, 150000), (150000, 16)])
def test_every_order_of_a_large_array_is_that_of_its_copy(dtype, shape):
    array = (np.arange(np.prod(shape)) % 97).astype(dtype).reshape(shape)
    for axes in itertools.permutations(range(array.ndim)):
        moved = array.transpose(axes)
        views = (moved, moved[::-1], moved[..., ::2], np.broadcast_to(moved[:1], moved.shape))
        for view in views:
            assert array_hash(view) == array_hash(np.array(view, order="C"))


@pytest.mark.parametrize(
    "text",
    [
        "import mine_rates\ndef f(x): return eval('mine_rates.RATE')",
        "from mine_rates import RATE\ndef f(x): return globals()['RATE']",
        "import sys, mine_rates\ndef f(x): return sys.modules['mine_rates'].RATE",
        "import importlib\ndef f(x): return importlib.import_module('mine_rates').RATE",
        "import mine_rates\ndef g(m): return m.RATE\ndef f(x): return g(mine_rates)",
        "import mine_rates\ndef f(x): return getattr(mine_rates, 'RATE')",
        "def g(m): return m.RATE\ndef f(x):\n import mine_rates\n return g(mine_rates)",
        "def f(x):\n import mine_rates as m\n return m.RATE",
    ],
)
def test_a_module_counts_however_it_is_read(text, monkeypatch):
    def digest(rate):
        monkeypatch.setitem(sys.modules, "mine_rates", module(rate))
        scope = {}
        exec(text, scope)
        return code_hash(scope["f"])

    assert digest(1) == digest(1) != digest(2)


class Keeper:
    def __init__(self, source):
        self.source = source


HOLDERS = {
    "closure": lambda m: lambda p: m.RATE * p,
    "list": lambda m: (lambda source: lambda p: source[0].RATE * p)([m]),
    "dict": lambda m: (lambda source: lambda p: source["a"].RATE * p)({"a": m}),
    "partial": lambda m: functools.partial(lambda source, p: source.RATE * p, m),
    "default": lambda m: lambda p, source=m: source.RATE * p,
    "keyword": lambda m: lambda p, *, source=m: source.RATE * p,
    "attribute": lambda m: (lambda o: lambda p: o.source.RATE * p)(Keeper(m)),
    "method": lambda m: Keeper(m).__init__,
    "class": lambda m: type("Made", (), {"kept": m}),
    "jit": lambda m: jax.jit(lambda p: m.RATE * p),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_module_counts_wherever_it_is_held(holder):
    mine = module(1)
    f = HOLDERS[holder](mine)
    before = code_hash(f)
    mine.RATE = 2
    assert code_hash(f) != before
    mine.RATE = 1
    assert code_hash(f) == before
