"""A sweep's work as bytes that another process opens: what is named travels by its name, a user's
modules as text, and the rest by cloudpickle.

A theory whose module can be imported, or whose file travels, is that module's THEORY, with the
slots that differ from it by value. The parcel says what packed it; whoever opens it compares
versions, the request's identity and the digest of the theory's code before anything runs.
"""

import dataclasses
import importlib
import json
import pickle
import platform
import sys
import sysconfig
import tempfile
import types
from collections.abc import Callable, Iterable
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import jax
import numpy as np

from jaxtheory.core import plugins, source
from jaxtheory.core.code_hash import code_hash, functions
from jaxtheory.core.config import Config
from jaxtheory.core.errors import InputError
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.task import Task
from jaxtheory.engine.planning import lay_out, padding
from jaxtheory.engine.planning.layout import Bucket, Chunk, group
from jaxtheory.engine.request.settings import numerics, settings
from jaxtheory.engine.results.identity import THEORY_SLOTS, as_json, identity
from jaxtheory.engine.results.store import Store

_PACKAGES = ("jaxtheory", "jax", "jaxlib", "numpy", "optax")
_USER = "jaxtheory_user_"  # how the modules of users' files are named, see core.files
_standing: dict[str, str] = {}  # the text of each module that a parcel brought


class Opened(NamedTuple):
    """What a worker keeps of a parcel."""

    work: Task
    buckets: tuple[Bucket, ...]
    settings: dict[str, Any]


def required_versions() -> dict[str, str]:
    """What has to be equal for equal numbers, and for code that travels."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: metadata.version(name) for name in _PACKAGES}}


def pack(work: Task, chunks: Iterable[Chunk]) -> bytes:
    """The work of a sweep as bytes; without a store its buckets are those of all its chunks. Raises
    InputError where something in it cannot travel.
    """
    request = work.request
    buffer = BytesIO()
    try:
        Pickler(buffer).dump(request)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"{request.theory.name} cannot travel to another process ({first}); put it into a "
            "FILE.py with functions at its top level"
        ) from None
    buckets = {chunk.bucket.number: chunk.bucket for chunk in chunks}
    whole = [buckets[number] for number in sorted(buckets)]
    return pickle.dumps(
        {
            "versions": required_versions(),
            "sources": sources((request.theory._replace(checks=()), request.stop)),
            "request": buffer.getvalue(),
            "identity": as_json(identity(request)),
            "by value": _by_value(request.theory),
            "code": code(request.theory, request.stop),
            "layouts": lay_out.layouts(whole) if work.store is None else work.store.plan,
            "padded": padding.trusted(request.theory),
            "finite": work.finite,
            "settings": settings(),
            "store": None if work.store is None else str(work.store.path.absolute()),
        }
    )


def unpack(parcel: bytes, folder: Path) -> Opened:
    """The work of a parcel, with the modules that traveled in a folder of this process. Raises
    InputError where this process is not fit for it.
    """
    packed = pickle.loads(parcel)
    wanted, found = packed["versions"], required_versions()
    if other := [name for name in wanted if wanted[name] != found[name]]:
        said = ", ".join(f"{name} {found[name]}, the sweep {wanted[name]}" for name in other)
        raise InputError(f"has {said}; install the sweep's versions there")
    _import_sources(packed["sources"], folder)
    with jax.enable_x64(True):  # an array keeps its dtype
        request = pickle.loads(packed["request"])
    changed = _differing(packed, as_json(identity(request)))
    if not changed and code(request.theory, request.stop) != packed["code"]:
        changed = [f"code of {request.theory.name}"]
    if changed:
        raise InputError(
            f"has another {', '.join(changed)}; install the sweep's code there, or load its file "
            "again"
        )
    if packed["padded"]:
        padding.believe(request.theory)
    with numerics(request.dtype, request.partitionable):
        buckets = lay_out.laid(group(request), packed["layouts"])
    store = None
    if packed["store"] is not None:
        store = Store(packed["store"], packed["identity"])
        if store.manifest is None:
            raise InputError(
                f"does not see the store {packed['store']}; choose a directory that all workers "
                "share"
            )
    return Opened(Task(request, store, packed["finite"]), buckets, packed["settings"])


def _differing(packed: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """What differs between two identities, but for what traveled by value."""

    def compared(described: dict[str, Any]) -> dict[str, str]:
        flat = {**described, **{f"code of {k}": v for k, v in described["code"].items()}}
        skip = {"code", "stop", *(f"code of {name}" for name in packed["by value"])}
        texts = {name: json.dumps(value) for name, value in flat.items() if name not in skip}
        whole = "algorithms" in packed["by value"] or "sample" in packed["by value"]
        return {n: t for n, t in texts.items() if not (whole and n.startswith("code of algorithm"))}

    there, mine = compared(packed["identity"]), compared(here)
    return [name for name in there if there[name] != mine.get(name)]


def code(theory: Theory, stop: Callable | None) -> str:
    """A hash of the functions that a theory is made of, in whatever order they are found: that of a
    class's members changes as it travels by value. A function that travels by value counts by its
    instructions, as its text stays behind.
    """
    found = functions((theory._replace(checks=()), stop))
    texts = [
        source.of_function(f.__code__, f.__globals__) if _importable(f) else None for f in found
    ]
    said = [
        code_hash(f.__code__ if text is None else text.normal)
        for f, text in zip(found, texts, strict=True)
    ]
    return code_hash(sorted(said))


# The theory


def _home(theory: Theory) -> tuple[str, Theory] | None:
    """The module, or package above it, that has the theory's Config and a THEORY of it."""
    name = theory.Config.__module__
    while name and name != "__main__":
        base = getattr(sys.modules.get(name), "THEORY", None)
        if isinstance(base, Theory) and base.Config is theory.Config:
            return name, base
        name = name.rpartition(".")[0]
    return None


def _changes(theory: Theory, base: Theory) -> dict[str, Any]:
    """The slots, but for checks, that are not the base's."""
    slots = [slot for slot in Theory._fields if slot != "checks"]
    return {s: getattr(theory, s) for s in slots if getattr(theory, s) is not getattr(base, s)}


def _by_value(theory: Theory) -> list[str]:
    """The slots whose code travels by value."""
    found = _home(theory)
    if found is None:
        return [*THEORY_SLOTS, "algorithms", "sample"]
    return list(_changes(theory, found[1]))


def _theory_of(module: str, changed: dict[str, Any]) -> Theory:
    """The theory of a module, with some slots changed."""
    found: Theory = importlib.import_module(module).THEORY
    return found._replace(**changed) if changed else found


def _config_class(name: str, bases: tuple, own: dict[str, Any], slots: dict[str, Any]) -> type:
    """A Config class without its methods, made anew: JAX learns of its fields as it is made."""
    made = {n: dataclasses.field(**how) for n, how in slots.items()}
    return types.new_class(name, bases, {}, lambda space: space.update(own | made))


def _with_methods(made: type, methods: dict[str, Any]) -> None:
    """Give a class its methods."""
    for name, method in methods.items():
        setattr(made, name, method)


class Pickler(cloudpickle.Pickler):
    """cloudpickle, with theories by reference, keys by their numbers, and classes as their
    libraries make them.
    """

    def reducer_override(self, thing: Any) -> Any:
        """How an object is made anew."""
        if isinstance(thing, Theory):
            if found := _home(thing):
                return _theory_of, (found[0], _changes(thing, found[1]))
            return Theory, tuple(thing._replace(checks=()))
        if isinstance(thing, jax.Array) and jax.dtypes.issubdtype(thing.dtype, jax.dtypes.prng_key):
            data = np.asarray(jax.random.key_data(thing))
            return _key_of, (data, str(jax.random.key_impl(thing)))
        if isinstance(thing, type) and hasattr(thing, "dim_str"):
            kind: Any = thing
            return _annotation, (kind.dtype, kind.array_type, kind.dim_str)
        if isinstance(thing, type) and issubclass(thing, Config) and not _importable(thing):
            return _reduced(thing)
        return super().reducer_override(thing)


def _key_of(data: np.ndarray, impl: str) -> jax.Array:
    """A key by its numbers."""
    return jax.random.wrap_key_data(jax.numpy.asarray(data), impl=impl)


def _annotation(dtype: Any, array: Any, dims: str) -> Any:
    """A jaxtyping annotation."""
    return dtype[array, dims]


def _importable(made: Any) -> bool:
    """Whether a class or a function is found by its name in a module other than __main__."""
    module = sys.modules.get(made.__module__)
    return made.__module__ != "__main__" and getattr(module, made.__qualname__, None) is made


def _reduced(made: Any) -> tuple:
    """A Config class by value: its own fields, then its methods, which may name the class."""
    known = made.__dataclass_fields__
    own = vars(made).get("__annotations__", {})
    options = ("default", "default_factory", "metadata", "kw_only")
    slots = {}
    for name in own:
        how = {option: getattr(known[name], option) for option in options}
        missing = [n for n in ("default", "default_factory") if "MISSING" in repr(how[n])]
        slots[name] = {n: v for n, v in how.items() if n not in missing}
        slots[name]["metadata"] = dict(slots[name]["metadata"])
    space = {n: getattr(made, n) for n in ("__module__", "__qualname__", "__doc__")}
    methods = {
        name: value
        for name, value in vars(made).items()
        if isinstance(value, types.FunctionType | property | staticmethod | classmethod)
        and name not in vars(Bare)
    }
    arguments = (made.__name__, made.__bases__, {**space, "__annotations__": dict(own)}, slots)
    return _config_class, arguments, methods, None, None, _with_methods


class Bare(Config):
    """What a Config has of itself, with no field and no method of a user's."""


# A user's modules


def sources(root: Any) -> dict[str, tuple[str, str]]:
    """The modules of users that functions are made of, and those loaded from the same folders: name
    -> (path below the folder on sys.path, text).
    """
    names = {str(function.__module__) for function in functions(root)}
    modules = [module for name in sorted(names) if (module := _own_module(name))]
    roots = {_root_of(module) for module in modules}
    beside = [
        module
        for name in sorted(sys.modules)
        if (module := _own_module(name)) and _root_of(module) in roots
    ]
    return {
        module.__name__: (
            str(_path_of(module).relative_to(_root_of(module))),
            _text(_path_of(module)),
        )
        for module in beside
    }


def _own_module(name: str) -> types.ModuleType | None:
    """A module of a user's that no package installs; None for any other."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or not file.endswith(".py") or name == "__main__":
        return None
    place = Path(file).absolute()
    homes = [Path(__file__).parents[1], Path(sysconfig.get_path("stdlib"))]
    if "site-packages" in place.parts or any(place.is_relative_to(one) for one in homes):
        return None
    inside = module.__name__.startswith(("jaxtheory.", "__mp_main__"))
    spec = getattr(module, "__spec__", None)
    return None if inside or spec is None or spec.name != name else module


def _path_of(module: types.ModuleType) -> Path:
    """The file of a module."""
    return Path(str(module.__file__)).absolute()


def _root_of(module: types.ModuleType) -> Path:
    """The folder from which a module is imported."""
    path = _path_of(module)
    depth = module.__name__.count(".") + (path.name == "__init__.py")
    return path.parents[depth]


def _text(path: Path) -> str:
    """The text of a file that travels."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it has to travel to the workers") from None


def _import_sources(found: dict[str, tuple[str, str]], home: Path) -> None:
    """Make a user's modules importable here; those that stand here with the same text are kept, so
    that what they compiled is kept too.
    """
    if all(said in (_standing.get(name), _loaded(name)) for name, (_, said) in found.items()):
        return
    folder = Path(tempfile.mkdtemp(prefix="jaxtheory-", dir=home))
    for place, said in found.values():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(said, encoding="utf-8")
    for name, (_, said) in found.items():
        sys.modules.pop(name, None)
        _standing[name] = said
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    for name, (place, _) in found.items():
        if name.startswith(_USER):
            plugins.load_file(folder / place)


def _loaded(name: str) -> str | None:
    """The text of a module that stands here."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return Path(file).read_text(encoding="utf-8") if file and Path(file).is_file() else None
