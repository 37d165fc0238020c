"""Objects of many kinds, each made from a number that is its content."""

import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import operator
import pathlib
import re
import types
import typing
import weakref

import flax
import flax.linen as nn
import jax
import jax.experimental.sparse
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pyarrow
import scipy.interpolate
import scipy.sparse
import scipy.spatial
import scipy.stats
import xarray as xr
from flax import nnx, struct


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


def annotate(thing, **attributes):
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
    return annotate(types.ModuleType("mine"), RATE=n)


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
    return lambda n: annotate(Plain(), **{name: n})


class Plain(nnx.Module):
    pass


def transformed(transform):
    """A module whose method is transformed."""

    def make(n):
        class Scaled(nn.Module):
            @transform
            @nn.compact
            def __call__(self, x):
                return n * nn.Dense(2)(x)

        return Scaled()

    return make


def in_setup(n):
    class Inner(nn.Module):
        def setup(self):
            self.layer = nn.jit(nn.Dense)(n)

        @nn.nowrap
        def plain(self, x):
            return n * x

        def __call__(self, x):
            return self.plain(self.layer(x))

    return Inner()


def scanned(n):
    class Deep(nn.Module):
        @functools.partial(
            nn.scan, variable_broadcast="params", split_rngs={"params": False}, length=n
        )
        @nn.compact
        def step(self, x, _):
            return nn.Dense(2)(x), None

        @nn.compact
        def __call__(self, x):
            return self.step(x, None)[0]

    return Deep()


def of_nnx(transform):
    """A module of nnx whose method is transformed."""

    def make(n):
        class Scaled(nnx.Module):
            def __init__(self):
                self.layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

            @transform
            def __call__(self, x):
                return n * self.layer(x)

        return Scaled()

    return make


@struct.dataclass
class Static:
    values: jax.Array
    n: int = struct.field(pytree_node=False)


class Equation:
    """A pytree that is also a function."""

    def __init__(self, weight, n):
        self.weight, self.n = weight, n

    def __call__(self, x):
        return self.n * self.weight * x


jax.tree_util.register_pytree_node(
    Equation, lambda e: ((e.weight,), e.n), lambda n, leaves: Equation(*leaves, n)
)


def ruled_beside(n):
    """A custom_vjp with a static argument."""

    @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
    def f(x, k):
        return k * x

    f.defvjp(lambda x, k: (k * x, None), lambda k, _, g: (n * k * g,))
    return f


def tangent_beside(n):
    """A custom_jvp with a static argument."""

    @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
    def f(x, k):
        return k * x

    @f.defjvp
    def rule(k, primals, tangents):
        return f(primals[0], k), n * tangents[0]

    return f


def warmed(n):
    return optax.warmup_cosine_decay_schedule(0.0, 1.0, n, 10)


def sharded(n):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    spec = jax.sharding.PartitionSpec()
    return jax.shard_map(lambda x: n * x, mesh=mesh, in_specs=spec, out_specs=spec)


KINDS = {  # from a number, an object with that content
    "linen.jit": transformed(nn.jit),
    "linen.jit, class": lambda n: nn.jit(nn.Dense)(n),
    "linen.jit, static": lambda n: nn.jit(nn.Dense, static_argnums=(n,))(3),
    "linen.jit, remat": transformed(lambda f: nn.jit(nn.remat(f))),
    "linen.remat": transformed(nn.remat),
    "linen.remat, class": lambda n: nn.remat(nn.Dense)(n),
    "linen.remat, policy": lambda n: nn.remat(
        nn.Dense, policy=jax.checkpoint_policies.save_only_these_names(f"a{n}")
    )(3),
    "linen.checkpoint": transformed(nn.checkpoint),
    "linen.vmap": lambda n: nn.vmap(
        nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}
    )(n),
    "linen.vmap, axes": lambda n: nn.vmap(
        nn.Dense, variable_axes={"params": n - 2}, split_rngs={"params": True}
    )(3),
    "linen.scan, method": scanned,
    "linen.setup": in_setup,
    "linen.named_call": transformed(nn.named_call),
    "linen.map_variables": lambda n: nn.map_variables(
        nn.Dense, "params", trans_in_fn=lambda v: jax.tree.map(lambda x: n * x, v), init=True
    )(3),
    "linen.RNN": lambda n: nn.RNN(nn.LSTMCell(n)),
    "core.jit": lambda n: flax.core.lift.jit(lambda scope, x: n * x),
    "nnx.jit, method": of_nnx(nnx.jit),
    "nnx.remat": lambda n: nnx.remat(lambda m, x: n * m(x)),
    "nnx.remat, method": of_nnx(nnx.remat),
    "nnx.vmap": lambda n: nnx.vmap(lambda m, x: n * m(x), in_axes=(None, 0)),
    "nnx.scan": lambda n: nnx.scan(lambda c, x: (n * c, x), length=3),
    "nnx.scan, length": lambda n: nnx.scan(lambda c, x: (c, x), length=n),
    "nnx.grad": lambda n: nnx.grad(lambda m, x: n * m(x).sum()),
    "nnx.custom_vjp": lambda n: nnx.custom_vjp(lambda x: n * x),
    "nnx.split": lambda n: nnx.split(nnx.Linear(2, n, rngs=nnx.Rngs(0))),
    "nnx.ToNNX": lambda n: nnx.bridge.ToNNX(nn.Dense(n), rngs=nnx.Rngs(0)),
    "struct.dataclass": lambda n: Static(jnp.ones(2), n),
    "struct, values": lambda n: Static(jnp.full(2, n), 1),
    "struct, class": lambda n: struct.dataclass(
        type("Made", (), {"__annotations__": {"a": int}, "a": n, "f": lambda self: n})
    ),
    "struct.PyTreeNode": lambda n: type(
        "Made", (struct.PyTreeNode,), {"__annotations__": {"a": int}, "a": n}
    )(),
    "optax.inject, schedule": lambda n: optax.inject_hyperparams(optax.adam)(warmed(n)),
    "optax.inject, static": lambda n: optax.inject_hyperparams(
        optax.adam, static_args=("b1",) if n > 2 else ("b2",)
    )(0.1),
    "optax.multi_transform": lambda n: optax.multi_transform(
        {"x": optax.sgd(n), "y": optax.adam(0.1)}, {"a": "x", "b": "y"}
    ),
    "optax.multi_transform, labels": lambda n: optax.multi_transform(
        {"x": optax.sgd(1), "y": optax.adam(0.1)}, lambda p: {"a": "x", "b": "xy"[n - 2]}
    ),
    "optax.partition": lambda n: optax.partition(
        {"x": optax.sgd(n), "y": optax.adam(0.1)}, {"a": "x", "b": "y"}
    ),
    "optax.masked, function": lambda n: optax.masked(
        optax.sgd(1), lambda p: jax.tree.map(lambda x: x.ndim > n, p)
    ),
    "optax.MultiSteps, function": lambda n: optax.MultiSteps(optax.sgd(1), lambda step: n),
    "optax.join_schedules": lambda n: optax.join_schedules(
        [optax.linear_schedule(0.0, 1.0, n), optax.constant_schedule(0.1)], [n]
    ),
    "optax.piecewise": lambda n: optax.piecewise_constant_schedule(1.0, {n: 0.1}),
    "optax.interpolate": lambda n: optax.piecewise_interpolate_schedule("linear", 1.0, {n: 0.1}),
    "optax.warmup": warmed,
    "optax.sgdr": lambda n: optax.sgdr_schedule(
        [{"init_value": 0.0, "peak_value": 1.0, "warmup_steps": n, "decay_steps": 10}]
    ),
    "optax.scale_by_schedule": lambda n: optax.scale_by_schedule(warmed(n)),
    "tree Partial, jit": lambda n: jax.tree_util.Partial(jax.jit(lambda x: n * x)),
    "custom_vjp, static": ruled_beside,
    "custom_jvp, static": tangent_beside,
    "custom_vjp, which": lambda n: jax.custom_vjp(lambda x, k: x, nondiff_argnums=(n - 2,)),
    "custom_jvp, which": lambda n: jax.custom_jvp(lambda x, k: x, nondiff_argnums=(n - 2,)),
    "equation": lambda n: Equation(jnp.full(2, n), 1),
    "equation, static": lambda n: Equation(jnp.ones(2), n),
    "shard_map": sharded,
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
    "Series, own": lambda n: annotate(Mine([1.0]), rate=n),
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
    "deque, attribute": lambda n: annotate(Deque([1]), rate=n),
    "Counter": lambda n: collections.Counter({"a": n}),
    "OrderedDict": lambda n: collections.OrderedDict(a=n),
    "defaultdict": lambda n: collections.defaultdict(lambda: n, a=1),
    "ChainMap": lambda n: collections.ChainMap({"a": n}),
    "UserDict": lambda n: collections.UserDict(a=n),
    "UserList": lambda n: collections.UserList([n]),
    "dict, own": lambda n: annotate(Frozen(a=1), rate=n),
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
    "partial, attribute": lambda n: annotate(Partial(jnp.add, 1), rate=n),
    "partialmethod": lambda n: functools.partialmethod(jnp.add, n),
    "tree Partial": lambda n: jax.tree_util.Partial(jnp.add, n),
    "weakref": lambda n: weakref.ref(KEPT.setdefault(n, Silent(n))),
    "namedtuple": lambda n: Named(n),
    "namedtuple, own": lambda n: annotate(Annotated(1), scale=n),
    "namedtuple class": lambda n: collections.namedtuple("Pair", "a", defaults=(n,)),
    "list, own": lambda n: annotate(Items([1]), rate=n),
    "list, own items": lambda n: Items([n]),
    "float, own": lambda n: annotate(Number(1), rate=n),
    "float, own value": lambda n: Number(n),
    "str, own": lambda n: annotate(Text("a"), rate=n),
    "str, own value": lambda n: Text(n),
    "array, own": lambda n: annotate(np.ones(2).view(Array), rate=n),
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
    "Series, own private": lambda n: annotate(Mine([1.0]), _range=n),
    "frozenset": lambda n: (frozenset({n}), frozenset({n})),
    "uuid": lambda n: __import__("uuid").UUID(int=n),
    "ctypes": lambda n: __import__("ctypes").c_int(n),
}
KEPT: dict = {}
