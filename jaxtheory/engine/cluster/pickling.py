"""Pack the task of a sweep into bytes, called a parcel, that another process opens.

Importable objects are sent by name, modules of the user as source text, and the rest by
cloudpickle. A theory whose module can be imported, or is sent as source, is that module's THEORY,
with the slots that differ from it by value. Before anything runs, the process that opens a parcel
compares versions, the identity of the request and the hash of the theory's code with its own.
"""

import dataclasses
import importlib
import json
import pickle
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

from jaxtheory.code import source
from jaxtheory.code.code_hash import code_hash, functions
from jaxtheory.code.plain import as_json
from jaxtheory.core import plugins
from jaxtheory.core.config import Config
from jaxtheory.core.theory import Theory
from jaxtheory.engine.execution.chunk_task import ChunkTask
from jaxtheory.engine.planning import padding, planner
from jaxtheory.engine.planning.buckets import group
from jaxtheory.engine.records import Bucket, Chunk
from jaxtheory.engine.request.settings import numerics, settings
from jaxtheory.engine.results import environment
from jaxtheory.engine.results.identity import THEORY_SLOTS, identity
from jaxtheory.engine.store.store import Store
from jaxtheory.texts.errors import InputError

# of the environment, what changes bits of results but not whether code can be sent
_ACCEPTED = ("backend", "target", "xla_flags", "jax_flags", "variables")
_ANY = ", or accept others with --accept-versions (accept_versions=True) and a store"
_KIND = f"use workers of one kind, and run the sweep on a machine of that kind{_ANY}"
_SET = f"set the same flags and variables where the workers start{_ANY}"
_REMEDIES = {"backend": _KIND, "target": _KIND, **dict.fromkeys(_ACCEPTED[2:], _SET)}
_USER = "jaxtheory_user_"  # prefix of the names of modules that `core.plugins` loads from files
_received: dict[str, str] = {}  # source of each module that came with a parcel


class Opened(NamedTuple):
    """An opened parcel: the task of a sweep, its buckets, and JAX's settings."""

    task: ChunkTask
    buckets: tuple[Bucket, ...]
    settings: dict[str, Any]


def required_versions() -> dict[str, str]:
    """Return what must be equal for equal numbers, and for pickled code.

    These are versions, the backend, the processor that XLA compiles for, and flags.
    """
    return {"jaxtheory": metadata.version("jaxtheory"), **environment.present()}


def pack(task: ChunkTask, chunks: Iterable[Chunk]) -> bytes:
    """Return the task of a sweep as bytes. Raises InputError if a part of it cannot be pickled.

    Without a store, its buckets are those of all chunks of the sweep.
    """
    request = task.request
    buffer = BytesIO()
    try:
        Pickler(buffer).dump(request)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"{request.theory.name} cannot be sent to another process ({first}); define it in a "
            "file with functions at its top level"
        ) from None
    buckets = {chunk.bucket.number: chunk.bucket for chunk in chunks}
    in_order = [buckets[number] for number in sorted(buckets)]
    return pickle.dumps(
        {
            "versions": required_versions(),
            "sources": sources((request.theory._replace(checks=()), request.stop)),
            "request": buffer.getvalue(),
            "identity": as_json(identity(request)),
            "by value": _by_value(request.theory),
            "code": code(request.theory, request.stop),
            "layouts": planner.layouts(in_order)
            if task.rectangle is None
            else task.rectangle.content["plan"],
            "padded": padding.trusted(request.theory),
            "finite": task.finite,
            "keep": task.keep,
            "claim": task.claim,
            "accept": task.accept,
            "rectangle": None if task.rectangle is None else task.rectangle.name,
            "settings": settings(),
            "store": None if task.store is None else str(task.store.path.absolute()),
        }
    )


def unpack(parcel: bytes, folder: Path) -> Opened:
    """Open a parcel, and write the modules that came with it to a folder of this process.

    Raises InputError if this process has other versions, another processor, other flags or other
    code, or does not see the store.
    """
    packed = pickle.loads(parcel)
    wanted, versions = packed["versions"], required_versions()
    mismatches = [name for name in versions if wanted.get(name) != versions[name]]
    if mismatches := [name for name in mismatches if not (packed["accept"] and name in _ACCEPTED)]:
        listed = ", ".join(
            f"{name} {versions[name]}, the sweep {wanted.get(name)}" for name in mismatches
        )
        remedies = [
            _REMEDIES.get(name, "install the versions of the sweep there") for name in mismatches
        ]
        raise InputError(f"has {listed}; {'; '.join(dict.fromkeys(remedies))}")
    _import_sources(packed["sources"], folder)
    with jax.enable_x64(True):  # an array keeps its dtype
        request = pickle.loads(packed["request"])
    changed = _differing(packed, as_json(identity(request)))
    if not changed and code(request.theory, request.stop) != packed["code"]:
        changed = [f"code of {request.theory.name}"]
    if changed:
        raise InputError(
            f"has another {', '.join(changed)}; install the code of the sweep there, or reload its "
            "file"
        )
    if packed["padded"]:
        padding.believe(request.theory)
    with numerics(request.dtype, request.partitionable):
        buckets = planner.laid(group(request), packed["layouts"])
    store = rectangle = None
    if packed["store"] is not None:
        store = Store(packed["store"])
        if (rectangle := store.rectangle(packed["rectangle"])) is None:
            raise InputError(
                f"does not see the store {packed['store']}; choose a directory that all workers "
                "share"
            )
    flags = {name: packed[name] for name in ("finite", "keep", "claim", "accept")}
    task = ChunkTask(request, store, rectangle, **flags)
    return Opened(task, buckets, packed["settings"])


def _differing(packed: dict[str, Any], local_identity: dict[str, Any]) -> list[str]:
    """Names of the entries that differ between two identities, apart from those sent by value."""

    def compared(described: dict[str, Any]) -> dict[str, str]:
        flat = {**described, **{f"code of {k}": v for k, v in described["code"].items()}}
        skip = {"code", "stop", *(f"code of {name}" for name in packed["by value"])}
        texts = {name: json.dumps(value) for name, value in flat.items() if name not in skip}
        skip_algorithms = "algorithms" in packed["by value"] or "sample" in packed["by value"]
        return {
            n: t
            for n, t in texts.items()
            if not (skip_algorithms and n.startswith("code of algorithm"))
        }

    wanted, present = compared(packed["identity"]), compared(local_identity)
    return [name for name in wanted if wanted[name] != present.get(name)]


def code(theory: Theory, stop: Callable | None) -> str:
    """Return a hash of the functions that a theory is made of.

    It does not depend on their order, because pickling by value changes the order of the members of
    a class. A function that is sent by value counts by its bytecode, because its source is not
    sent.
    """
    parts = functions((theory._replace(checks=()), stop))
    texts = [
        source.of_function(f.__code__, f.__globals__) if _importable(f) else None for f in parts
    ]
    hashes = [
        code_hash(f.__code__ if text is None else text.normal)
        for f, text in zip(parts, texts, strict=True)
    ]
    return code_hash(sorted(hashes))


# The theory


def _home(theory: Theory) -> tuple[str, Theory] | None:
    """Module of the theory's Config, or a package above it, whose THEORY has the same Config."""
    name = theory.Config.__module__
    while name and name != "__main__":
        base = getattr(sys.modules.get(name), "THEORY", None)
        if isinstance(base, Theory) and base.Config is theory.Config:
            return name, base
        name = name.rpartition(".")[0]
    return None


def _changes(theory: Theory, base: Theory) -> dict[str, Any]:
    """Slots of a theory, except checks, that differ from those of its base."""
    slots = [slot for slot in Theory._fields if slot != "checks"]
    return {s: getattr(theory, s) for s in slots if getattr(theory, s) is not getattr(base, s)}


def _by_value(theory: Theory) -> list[str]:
    """Names of the slots whose code is sent by value."""
    home = _home(theory)
    if home is None:
        return [*THEORY_SLOTS, "algorithms", "sample"]
    return list(_changes(theory, home[1]))


def _theory_of(module: str, changed: dict[str, Any]) -> Theory:
    """The theory of a module, with some slots changed."""
    theory: Theory = importlib.import_module(module).THEORY
    return theory._replace(**changed) if changed else theory


def _config_class(name: str, bases: tuple, space: dict[str, Any], slots: dict[str, Any]) -> type:
    """A new Config class without its methods; its creation registers the fields with JAX."""
    config_fields = {n: dataclasses.field(**how) for n, how in slots.items()}
    return types.new_class(name, bases, {}, lambda body: body.update(space | config_fields))


def _with_methods(cls: type, methods: dict[str, Any]) -> None:
    """Set the methods of a class."""
    for name, method in methods.items():
        setattr(cls, name, method)


class Pickler(cloudpickle.Pickler):
    """cloudpickle with special cases for theories, JAX keys, jaxtyping annotations and Configs.

    Theories are sent by name where possible, and keys as numbers. Annotations and Config classes
    are made by their libraries again.
    """

    def reducer_override(self, thing: Any) -> Any:
        """Return how an object is made again when it is unpickled."""
        if isinstance(thing, Theory):
            if home := _home(thing):
                return _theory_of, (home[0], _changes(thing, home[1]))
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
    """A JAX key from its numbers."""
    return jax.random.wrap_key_data(jax.numpy.asarray(data), impl=impl)


def _annotation(dtype: Any, array: Any, dims: str) -> Any:
    """A jaxtyping annotation."""
    return dtype[array, dims]


def _importable(definition: Any) -> bool:
    """True if a class or function can be imported by name from a module other than __main__."""
    module = sys.modules.get(definition.__module__)
    return (
        definition.__module__ != "__main__"
        and getattr(module, definition.__qualname__, None) is definition
    )


def _reduced(cls: Any) -> tuple:
    """A Config class by value: first its fields, then its methods, which may refer to the class."""
    all_fields = cls.__dataclass_fields__
    annotations = vars(cls).get("__annotations__", {})
    options = ("default", "default_factory", "metadata", "kw_only")
    slots = {}
    for name in annotations:
        how = {option: getattr(all_fields[name], option) for option in options}
        missing = [n for n in ("default", "default_factory") if "MISSING" in repr(how[n])]
        slots[name] = {n: v for n, v in how.items() if n not in missing}
        slots[name]["metadata"] = dict(slots[name]["metadata"])
    space = {n: getattr(cls, n) for n in ("__module__", "__qualname__", "__doc__")}
    methods = {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, types.FunctionType | property | staticmethod | classmethod)
        and name not in vars(_BareConfig)
    }
    arguments = (
        cls.__name__,
        cls.__bases__,
        {**space, "__annotations__": dict(annotations)},
        slots,
    )
    return _config_class, arguments, methods, None, None, _with_methods


class _BareConfig(Config):
    """A Config without fields and methods, to tell those of a user from inherited ones."""


# A user's modules


def sources(root: Any) -> dict[str, tuple[str, str]]:
    """Return the user's modules that functions come from, and those from the same folders.

    The result maps the name of a module to its path below the folder on sys.path, and its source.
    """
    names = {str(function.__module__) for function in functions(root)}
    modules = [module for name in sorted(names) if (module := _user_module(name))]
    roots = {_root_of(module) for module in modules}
    neighbors = [
        module
        for name in sorted(sys.modules)
        if (module := _user_module(name)) and _root_of(module) in roots
    ]
    return {
        module.__name__: (
            str(_path_of(module).relative_to(_root_of(module))),
            _text(_path_of(module)),
        )
        for module in neighbors
    }


def _user_module(name: str) -> types.ModuleType | None:
    """A module of the user that is not installed by a package, or None."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or not file.endswith(".py") or name == "__main__":
        return None
    place = Path(file).absolute()
    homes = [Path(__file__).parents[1], Path(sysconfig.get_path("stdlib"))]
    if "site-packages" in place.parts or any(place.is_relative_to(home) for home in homes):
        return None
    inside = module.__name__.startswith(("jaxtheory.", "__mp_main__"))
    spec = getattr(module, "__spec__", None)
    return None if inside or spec is None or spec.name != name else module


def _path_of(module: types.ModuleType) -> Path:
    """File of a module."""
    return Path(str(module.__file__)).absolute()


def _root_of(module: types.ModuleType) -> Path:
    """Folder on sys.path from which a module is imported."""
    path = _path_of(module)
    depth = module.__name__.count(".") + (path.name == "__init__.py")
    return path.parents[depth]


def _text(path: Path) -> str:
    """Source text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; it must be sent to the workers") from None


def _import_sources(modules: dict[str, tuple[str, str]], home: Path) -> None:
    """Make the user's modules importable here.

    If all are here already with the same source they are kept, with their compiled functions.
    """
    if all(text in (_received.get(name), _loaded(name)) for name, (_, text) in modules.items()):
        return
    folder = Path(tempfile.mkdtemp(prefix="jaxtheory-", dir=home))
    for place, text in modules.values():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    for name, (_, text) in modules.items():
        sys.modules.pop(name, None)
        _received[name] = text
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    for name, (place, _) in modules.items():
        if name.startswith(_USER):
            plugins.load_file(folder / place)


def _loaded(name: str) -> str | None:
    """Source of a module that is loaded in this process."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return Path(file).read_text(encoding="utf-8") if file and Path(file).is_file() else None
