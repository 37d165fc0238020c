"""Every object counts by its contents, or is refused in one line that names it."""

import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import operator
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import threading
import types
import typing
import weakref
from pathlib import Path

import flax.linen as nn
import jax
import jax.experimental.sparse
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pyarrow
import pytest
import scipy.interpolate
import scipy.sparse
import scipy.spatial
import scipy.stats
import xarray as xr
from flax import nnx

from jaxtheory import InputError
from jaxtheory.core.code_hash import code_hash


class Net(nn.Module):
    first: nn.Module

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(self.first(x))


class Slotted:
    __slots__ = ("__b", "a")

    def __init__(self, a):
        self.__b = a
        self.a = 0


class Derived(Slotted):
    __slots__ = ()


class Deque(collections.deque):
    def __reduce__(self):
        return (Deque, ())


class Number(float):
    pass


class Text(str):
    pass


class Items(list):
    pass


class Named(typing.NamedTuple):
    rate: float


class Annotated(Named):
    pass


class Silent:
    """A choice without a representation of its own."""

    def __init__(self, a):
        self.a = a

    def __repr__(self):
        return "Silent"

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __getstate__(self):
        return {}


class Property:
    def __init__(self, a):
        self._a = a

    @functools.cached_property
    def twice(self):
        return 2 * self._a


class Frozen(dict):
    pass


class Partial(functools.partial):
    pass


class Array(np.ndarray):
    pass


class Mine(pd.Series):
    pass


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)


@dataclasses.dataclass
class Module(metaclass=Meta):
    weight: jax.Array
    rate: float = 0.5


def given(thing, **attributes):
    """The object with further attributes."""
    for name, value in attributes.items():
        setattr(thing, name, value)
    return thing


def structured(n):
    array = np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True))
    array["b"] = n
    return array


def ruled(n):
    @jax.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, g: (n * g,))
    return f


def tangent(n):
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (primals[0], n * tangents[0]))
    return f


def enumerated(n):
    return enum.Enum("Level", {"LOW": n, "HIGH": 9}).LOW


def contextual(n):
    variable = contextvars.ContextVar("rate")
    variable.set(n)
    return variable


def single(n):
    @functools.singledispatch
    def f(x):
        return n * x

    return f


def attributed(n):
    def f(x):
        return f.rate * x

    f.rate = n
    return f


def module(n):
    return given(types.ModuleType("mine"), RATE=n)


def frame(n):
    return pd.DataFrame({"a": [1.0, n], "b": ["x", "y"]})


def labeled(n):
    return xr.DataArray([1.0, n], dims="x", coords={"x": [0, 1]}, attrs={"u": "m"}, name="d")


GRID = np.linspace(0, 1, 6)
POINTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.4, 0.7]])
VARIABLE = typing.TypeVar("VARIABLE")


def generic(n):
    class Box(typing.Generic[VARIABLE]):
        def __init__(self):
            self._cache, self.scope, self._id = n, n, n

    return Box()


def renamed(name):
    return lambda n: given(Plain(), **{name: n})


class Plain(nnx.Module):
    pass


KINDS = {  # from a number, an object with that content
    "linen.Dense": lambda n: nn.Dense(n),
    "linen.Sequential": lambda n: nn.Sequential([nn.Dense(n)]),
    "linen.Dropout": lambda n: nn.Dropout(1 / n),
    "linen, named": lambda n: nn.Dense(4, name=f"layer{n}"),
    "a layer in a module": lambda n: Net(nn.Dense(n)),
    "linen initializer": lambda n: nn.Dense(4, kernel_init=nn.initializers.normal(n)),
    "linen.scan": lambda n: nn.scan(nn.Dense, length=n)(4),
    "nnx.Linear": lambda n: nnx.Linear(2, n, rngs=nnx.Rngs(0)),
    "nnx, weights": lambda n: nnx.Linear(2, 2, rngs=nnx.Rngs(n)),
    "nnx.Dropout": lambda n: nnx.Dropout(1 / n),
    "nnx.Param": lambda n: nnx.Param(jnp.full(2, n)),
    "nnx.List": lambda n: nnx.List([nnx.Linear(2, n, rngs=nnx.Rngs(0))]),
    "optax.sgd": lambda n: optax.sgd(n),
    "optax.adam": lambda n: optax.adam(0.1, eps=n),
    "optax.chain": lambda n: optax.chain(optax.clip(n), optax.sgd(1)),
    "optax.MultiSteps": lambda n: optax.MultiSteps(optax.sgd(1), n),
    "optax.schedule": lambda n: optax.cosine_decay_schedule(1.0, n),
    "optax.inject": lambda n: optax.inject_hyperparams(optax.sgd)(n),
    "optax.masked": lambda n: optax.masked(optax.sgd(1), {"a": n > 2}),
    "DataArray": labeled,
    "DataArray, attribute": lambda n: labeled(1).assign_attrs(n=n),
    "DataArray, label": lambda n: labeled(1).assign_coords(x=[0, n]),
    "Dataset": lambda n: labeled(n).to_dataset(),
    "xarray.Variable": lambda n: labeled(n).variable,
    "coordinates": lambda n: labeled(1).assign_coords(x=[0, n]).coords,
    "Series": lambda n: pd.Series([1.0, n], name="a"),
    "Series, index": lambda n: pd.Series([1.0, 2.0], index=[0, n]),
    "Series, name": lambda n: pd.Series([1.0], name=n),
    "Series, own": lambda n: given(Mine([1.0]), rate=n),
    "Series, text": lambda n: pd.Series(["a", str(n)]),
    "Series, nullable": lambda n: pd.Series([1, None, n], dtype="Int64"),
    "DataFrame": frame,
    "Index": lambda n: pd.Index([1, n]),
    "MultiIndex": lambda n: pd.MultiIndex.from_tuples([(1, n), (2, 3)]),
    "DatetimeIndex": lambda n: pd.date_range("2020", periods=n),
    "zone": lambda n: pd.date_range("2020", periods=n, tz="Europe/Berlin"),
    "Timestamp": lambda n: pd.Timestamp(2020, 1, n),
    "Timedelta": lambda n: pd.Timedelta(days=n),
    "Period": lambda n: pd.Period(f"200{n}"),
    "Interval": lambda n: pd.Interval(0, n),
    "IntervalIndex": lambda n: pd.interval_range(0, n),
    "Categorical": lambda n: pd.Categorical(["a", "b"], categories=["a", "b", f"c{n}"]),
    "groups": lambda n: frame(n).groupby("b"),
    "csr": lambda n: scipy.sparse.csr_matrix(n * np.eye(2)),
    "coo": lambda n: scipy.sparse.coo_array(n * np.eye(2)),
    "lil": lambda n: scipy.sparse.lil_matrix(n * np.eye(2)),
    "dok": lambda n: scipy.sparse.dok_matrix(n * np.eye(2)),
    "linear operator": lambda n: scipy.sparse.linalg.aslinearoperator(n * np.eye(2)),
    "interp1d": lambda n: scipy.interpolate.interp1d(GRID, n * GRID),
    "CubicSpline": lambda n: scipy.interpolate.CubicSpline(GRID, GRID**n),
    "Pchip": lambda n: scipy.interpolate.PchipInterpolator(GRID, GRID**n),
    "Akima": lambda n: scipy.interpolate.Akima1DInterpolator(GRID, GRID**n),
    "UnivariateSpline": lambda n: scipy.interpolate.UnivariateSpline(GRID, GRID**n),
    "BSpline": lambda n: scipy.interpolate.make_interp_spline(GRID, GRID**n),
    "BPoly": lambda n: scipy.interpolate.BPoly(np.full((2, 1), n), [0, 1]),
    "Barycentric": lambda n: scipy.interpolate.BarycentricInterpolator(GRID[:3], n * GRID[:3]),
    "grid": lambda n: scipy.interpolate.RegularGridInterpolator((GRID,), n * GRID),
    "LinearND": lambda n: scipy.interpolate.LinearNDInterpolator(POINTS, n * POINTS[:, 0]),
    "NearestND": lambda n: scipy.interpolate.NearestNDInterpolator(POINTS, n * POINTS[:, 0]),
    "CloughTocher": lambda n: scipy.interpolate.CloughTocher2DInterpolator(
        POINTS, n * POINTS[:, 0]
    ),
    "RBF": lambda n: scipy.interpolate.RBFInterpolator(POINTS, n * POINTS[:, 0]),
    "cKDTree": lambda n: scipy.spatial.cKDTree(n * POINTS),
    "KDTree": lambda n: scipy.spatial.KDTree(n * POINTS),
    "distribution": lambda n: scipy.stats.norm(0, n),
    "kde": lambda n: scipy.stats.gaussian_kde(n * GRID),
    "poly1d": lambda n: np.poly1d([1, n]),
    "Polynomial": lambda n: np.polynomial.Polynomial([1, n]),
    "Chebyshev": lambda n: np.polynomial.Chebyshev([1, n]),
    "vectorize": lambda n: np.vectorize(lambda x: x + n),
    "frompyfunc": lambda n: np.frompyfunc(lambda x: x + n, 1, 1),
    "frompyfunc method": lambda n: np.frompyfunc(lambda x, y: x + n, 2, 1).reduce,
    "Fraction": lambda n: fractions.Fraction(1, n),
    "Decimal": lambda n: decimal.Decimal(n),
    "decimal context": lambda n: decimal.Context(prec=n),
    "complex": lambda n: complex(1, n),
    "range": lambda n: range(n),
    "slice": lambda n: slice(0, n),
    "deque": lambda n: collections.deque([1, n]),
    "deque, length": lambda n: collections.deque([1], maxlen=n),
    "deque, own": lambda n: Deque([n]),
    "deque, attribute": lambda n: given(Deque([1]), rate=n),
    "Counter": lambda n: collections.Counter({"a": n}),
    "OrderedDict": lambda n: collections.OrderedDict(a=n),
    "defaultdict": lambda n: collections.defaultdict(lambda: n, a=1),
    "ChainMap": lambda n: collections.ChainMap({"a": n}),
    "UserDict": lambda n: collections.UserDict(a=n),
    "UserList": lambda n: collections.UserList([n]),
    "dict, own": lambda n: given(Frozen(a=1), rate=n),
    "dict, own items": lambda n: Frozen(a=n),
    "itemgetter": lambda n: operator.itemgetter(n),
    "attrgetter": lambda n: operator.attrgetter(f"x{n}"),
    "methodcaller": lambda n: operator.methodcaller("f", n),
    "Pattern": lambda n: re.compile("a" * n),
    "Pattern, flags": lambda n: re.compile("a", re.IGNORECASE if n > 2 else 0),
    "Match": lambda n: types.SimpleNamespace(a=n),
    "Enum": lambda n: Color(n - 1),
    "Enum, made": enumerated,
    "Enum class": lambda n: type(enumerated(n)),
    "Flag": lambda n: re.RegexFlag(n),
    "date": lambda n: datetime.date(2020, 1, n),
    "datetime": lambda n: datetime.datetime(2020, 1, n, tzinfo=datetime.UTC),
    "timedelta": lambda n: datetime.timedelta(n),
    "timezone": lambda n: datetime.timezone(datetime.timedelta(hours=n)),
    "Path": lambda n: pathlib.Path(f"a/{n}"),
    "partial": lambda n: functools.partial(jnp.add, n),
    "partial, own": lambda n: Partial(jnp.add, n),
    "partial, attribute": lambda n: given(Partial(jnp.add, 1), rate=n),
    "partialmethod": lambda n: functools.partialmethod(jnp.add, n),
    "tree Partial": lambda n: jax.tree_util.Partial(jnp.add, n),
    "weakref": lambda n: weakref.ref(KEPT.setdefault(n, Silent(n))),
    "namedtuple": lambda n: Named(n),
    "namedtuple, own": lambda n: given(Annotated(1), scale=n),
    "namedtuple class": lambda n: collections.namedtuple("Pair", "a", defaults=(n,)),
    "list, own": lambda n: given(Items([1]), rate=n),
    "list, own items": lambda n: Items([n]),
    "float, own": lambda n: given(Number(1), rate=n),
    "float, own value": lambda n: Number(n),
    "str, own": lambda n: given(Text("a"), rate=n),
    "str, own value": lambda n: Text(n),
    "array, own": lambda n: given(np.ones(2).view(Array), rate=n),
    "array, own values": lambda n: np.full(2, n).view(Array),
    "matrix": lambda n: np.asmatrix(np.full((2, 2), n)),
    "masked, values": lambda n: np.ma.array([1, n], mask=[True, False]),
    "masked, mask": lambda n: np.ma.array([1, 2], mask=[n > 2, False]),
    "masked, fill": lambda n: np.ma.array([1, 2], mask=[True, False], fill_value=n),
    "structured": structured,
    "record": lambda n: structured(n).view(np.recarray),
    "record scalar": lambda n: structured(n)[0],
    "object array": lambda n: np.array([Silent(n), None]),
    "text array": lambda n: np.array([f"a{n}"]),
    "StringDType": lambda n: np.array([f"a{n}" * 20], np.dtypes.StringDType()),
    "long double": lambda n: np.full(3, n, np.longdouble) / 3,
    "dates": lambda n: np.array([f"2020-01-0{n}"], "M8[D]"),
    "shape": lambda n: np.ones((n,)),
    "rank": lambda n: np.ones((1,) * n),
    "no rank": lambda n: np.ones(() if n > 2 else (1,)),
    "strides": lambda n: np.arange(12.0).reshape(3, 4)[:, ::n],
    "weak type": lambda n: jnp.asarray(1.0) if n > 2 else jax.lax.convert_element_type(1.0, float),
    "key": lambda n: jax.random.key(n),
    "kind of key": lambda n: jax.random.key(1, impl="rbg" if n > 2 else "unsafe_rbg"),
    "bfloat16": lambda n: jnp.full(2, n, jnp.bfloat16),
    "memoryview": lambda n: memoryview(bytes([1, n])),
    "bytearray": lambda n: bytearray([1, n]),
    "mappingproxy": lambda n: types.MappingProxyType({"a": n}),
    "dict values": lambda n: {"a": n}.values(),
    "Silent": Silent,
    "slots": Slotted,
    "slots of a base": Derived,
    "dataclass": lambda n: Module(jnp.full(2, n)),
    "made dataclass": lambda n: dataclasses.make_dataclass(
        "Made", [("x", int, dataclasses.field(default=n))]
    ),
    "made type": lambda n: types.new_class("Made", (), {}, lambda ns: ns.update(x=n)),
    "metaclass": lambda n: type("M", (type,), {"rate": n})("C", (), {}),
    "default factory": lambda n: dataclasses.make_dataclass(
        "Made", [("x", list, dataclasses.field(default_factory=lambda: [n]))]
    ),
    "dtype": lambda n: np.dtype([("a", f"f{4 * (n - 1)}")]),
    "sharding": lambda n: jax.sharding.PartitionSpec("x" * n),
    "NamedSharding": lambda n: jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x" * n,)), jax.sharding.PartitionSpec()
    ),
    "ShapeDtypeStruct": lambda n: jax.ShapeDtypeStruct((n,), float),
    "treedef": lambda n: jax.tree.structure({"a": (0,) * n}),
    "treedef, static": lambda n: jax.tree.structure(
        jax.tree_util.Partial(jnp.add if n > 2 else jnp.subtract, n)
    ),
    "treedef, key": lambda n: jax.tree.structure({f"a{n}": 0}),
    "jit": lambda n: jax.jit(lambda x: n * x),
    "jit, static": lambda n: jax.jit(lambda x, y, z: x, static_argnums=(n - 2,)),
    "jit, named": lambda n: jax.jit(lambda x, y: x, static_argnames="x" if n > 2 else "y"),
    "jit of a partial": lambda n: jax.jit(functools.partial(jnp.add, n)),
    "nnx.jit": lambda n: nnx.jit(lambda x: n * x),
    "custom_vjp": ruled,
    "custom_jvp": tangent,
    "checkpoint": lambda n: jax.checkpoint(lambda x: n * x),
    "checkpoint, policy": lambda n: jax.checkpoint(
        lambda x: x, policy=jax.checkpoint_policies.save_only_these_names(f"a{n}")
    ),
    "vmap": lambda n: jax.vmap(lambda x: x, in_axes=n),
    "grad": lambda n: jax.grad(lambda x: n * x),
    "bound method": lambda n: Silent(n).__repr__,
    "bound built-in": lambda n: {"a": n}.get,
    "bound wrapper": lambda n: [n].__len__,
    "bound array": lambda n: np.full(2, n).sum,
    "bound deque": lambda n: collections.deque([n]).count,
    "property": lambda n: property(lambda self: n),
    "property setter": lambda n: property(None, lambda self, x: n),
    "cached_property": lambda n: functools.cached_property(lambda self: n),
    "staticmethod": lambda n: staticmethod(lambda: n),
    "classmethod": lambda n: classmethod(lambda cls: n),
    "lru_cache": lambda n: functools.lru_cache(lambda x: n * x),
    "singledispatch": single,
    "ContextVar": contextual,
    "function attribute": attributed,
    "module": module,
    "nested sets": lambda n: {frozenset({"a", f"b{n}"}), frozenset({"c", "d"})},
    "bytes": lambda n: bytes([n]),
    "surrogate": lambda n: "\ud800" * n,
    "Signature": lambda n: __import__("inspect").signature(lambda x=n: x),
    "union": lambda n: int | (str if n > 2 else float),
    "alias": lambda n: list[int if n > 2 else str],
    "typing alias": lambda n: typing.Callable[[int], int if n > 2 else str],
    "exception": lambda n: ValueError(n),
    "struct": lambda n: __import__("struct").Struct(f"{n}i"),
    "array.array": lambda n: __import__("array").array("i", [n]),
    "jaxpr": lambda n: jax.make_jaxpr(lambda x: n * x)(1.0),
    "SeedSequence": lambda n: np.random.SeedSequence(n),
    "linearized": lambda n: jax.linearize(lambda x: n * x**2, 1.0)[1],
    "custom_vmap": lambda n: jax.custom_batching.custom_vmap(lambda x: n * x),
    "BatchNorm": lambda n: nnx.BatchNorm(n, rngs=nnx.Rngs(0)),
    "Mesh": lambda n: jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x" * n,)),
    "ZoneInfo": lambda n: __import__("zoneinfo").ZoneInfo(
        "Europe/Paris" if n > 2 else "Asia/Tokyo"
    ),
    "ast": lambda n: __import__("ast").parse(f"{n}"),
    "template": lambda n: __import__("string").Template("a" * n),
    "pyarrow": lambda n: pyarrow.array([1, n]),
    "offset": lambda n: pd.offsets.Day(n),
    "sparse series": lambda n: pd.Series(pd.arrays.SparseArray([0, n])),
    "bool series": lambda n: pd.Series([True, n > 2, None], dtype="boolean"),
    "BCOO": lambda n: jax.experimental.sparse.BCOO.fromdense(n * jnp.eye(2)),
    "Generic": generic,
    "nnx, scope": renamed("scope"),
    "nnx, parent": renamed("parent"),
    "nnx, state": renamed("_state"),
    "Series, own private": lambda n: given(Mine([1.0]), _range=n),
    "frozenset": lambda n: (frozenset({n}), frozenset({n})),
    "uuid": lambda n: __import__("uuid").UUID(int=n),
    "ctypes": lambda n: __import__("ctypes").c_int(n),
}
KEPT: dict = {}


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_counts_by_its_contents(kind):
    make = KINDS[kind]
    one, same, other = make(2), make(2), make(3)
    assert code_hash([one]) == code_hash([same]) != code_hash([other])
    assert code_hash(lambda: one) == code_hash(lambda: same) != code_hash(lambda: other)
    assert code_hash([one]) == code_hash([one])


EACH = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
from core.test_contents import KINDS
from jaxtheory.core.code_hash import code_hash
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

    one, other = hashes("1", "forward"), hashes("2", "backward")
    assert len(one) == len(KINDS)
    assert one == other


X, KEY = jnp.ones((1, 2)), jax.random.key(0)


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
    def of(rate):
        monkeypatch.setitem(sys.modules, "mine_rates", module(rate))
        scope = {}
        exec(text, scope)
        return code_hash(scope["f"])

    assert of(1) == of(1) != of(2)
