"""Identity of a result: the request as plain data plus a hash of the code that computes it.

The code of the theory is hashed slot by slot, and that of the engine as a whole.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from jaxtheory.code.code_hash import array_hash, code_hash
from jaxtheory.code.plain import as_json
from jaxtheory.core.config import Config, Size, fields
from jaxtheory.core.extended import without_additions
from jaxtheory.core.theory import Theory
from jaxtheory.engine.records import Run
from jaxtheory.engine.request.request import Request, read

THEORY_SLOTS = (
    "problem",
    "metrics",
    "baselines",
    "analyses",
    "predict",
    "dims",
    "coords",
    "Config",
)


def identity(request: Request) -> dict[str, Any]:
    """Return a request as plain data, equal for two requests exactly when their numbers are."""
    from jaxtheory.engine.results import computing  # it imports modules that import this one

    config = {n: getattr(request.config, n) for n in fields(type(request.config))}
    return {
        "theory": request.theory.name,
        "config": {
            n: {"n": int(v.n), "capacity": v.cap} if isinstance(v, Size) else as_json(v)
            for n, v in config.items()
        },
        "axes": [
            {"name": a.name, "labels": as_json(a.labels), "values": as_json(a.values)}
            for a in request.axes
        ],
        "seeds": request.seeds.tolist(),
        "steps": request.points.steps,
        "algorithm": request.algorithm,
        "key": request.key if isinstance(request.key, int) else _key_numbers(request.key),
        "record": as_json(request.schedule.records),
        "metrics": None
        if request.schedule.which is None
        else {n: sorted(steps) for n, steps in request.schedule.which.items()},
        "start": array_hash(
            (request.start.params, request.start.state)
            if isinstance(request.start, Run)
            else request.start
        ),
        "stop": None if request.stop is None else code_hash(request.stop),
        "save_params": as_json(request.save_params),
        "observe": _observed(request),
        "dtype": request.dtype,
        "matmul_precision": "highest",
        "buckets": request.buckets,
        "threefry_partitionable": request.partitionable,
        "code": _theory_code(request) | {"engine": computing.digest()},
    }


def _key_numbers(key: jax.Array) -> Any:
    """Numbers of a key, after the name of its generator unless that is threefry2x32."""
    numbers, name = as_json(jax.random.key_data(key)), str(jax.random.key_impl(key))
    return numbers if name == "threefry2x32" else [name, *numbers]


def _observed(request: Request) -> dict[str, list] | None:
    """Hash and dimensions of each observable, None if there are none."""
    observe, dims = getattr(request.theory.metrics, "observe", ()), request.theory.dims
    return {
        name: [code_hash(function), as_json(dims.get(name))] for name, function in observe
    } or None


def _theory_code(request: Request) -> dict[str, str]:
    """Checksum of each slot and of each algorithm of the theory that a request uses."""
    algorithms = dict.fromkeys(request.points.values("algorithm"))
    plain = without_additions(request.theory)
    slots = {name: code_hash(getattr(plain, name)) for name in THEORY_SLOTS}
    return slots | {
        f"algorithm {name}": code_hash((request.theory.algorithms[name], request.theory.sample))
        for name in algorithms
    }


def fingerprint(described: Mapping[str, Any]) -> str:
    """Return eight hexadecimal digits that identify a request."""
    return hashlib.sha256(json.dumps(as_json(described), sort_keys=True).encode()).hexdigest()[:8]


def store_of(
    folder: Path, name: str, theory: Theory, config: Config, options: dict[str, Any]
) -> Path:
    """Return the store directory of a sweep: FOLDER/<name>-<fingerprint of the request>.

    `options` holds the keyword arguments of `sweep`. An edited theory has another fingerprint, and
    thus a new directory.
    """
    return folder / f"{name}-{fingerprint(identity(read(theory, config, **options)))}"
