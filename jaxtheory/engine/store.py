"""Results on disk: resumable, labelled, never half-written.

    DIR/manifest.json     the request, the fixed plan, versions, times, and a checksum per finished part
    DIR/parts/*.npz       one file per finished chunk, renamed into place
    DIR/data.zarr         the labelled dataset, assembled at the end and renamed into place

A part counts once its checksum stands in the manifest; a part that is missing or does not match is computed again. No pickle is loaded.
"""

import contextlib
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxtheory.core.config import InputError

FORMAT = 1
KEYS = "fold_in(threefry2x32 key(k), seed); streams 0 problem, 1 init, 2 steps; fold_in(steps, t): 0 batch, 1 step"


def plain(value: Any) -> Any:
    """A value as JSON writes it; arrays become lists, callables their names, other objects their text."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if callable(value):
        return getattr(value, "__qualname__", repr(value))
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def digest(tree: Any) -> str | None:
    """A checksum of the arrays of a pytree; None for None."""
    if tree is None:
        return None
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        array = np.ascontiguousarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return total.hexdigest()


def fingerprint(request: Mapping) -> str:
    """Eight hexadecimal digits that name a request."""
    return hashlib.sha256(json.dumps(plain(request), sort_keys=True).encode()).hexdigest()[:8]


def versions() -> dict[str, str]:
    """What computed the numbers."""
    names = ("jaxtheory", "jax", "jaxlib", "numpy", "flax", "optax", "xarray", "zarr")
    found = {"python": platform.python_version(), "platform": platform.platform(), "backend": jax.default_backend()}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        here = Path(__file__).parent
        run = subprocess.run(["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
        found["commit"] = run.stdout.strip()
    return found


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, flush to disk, rename."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two JSON values, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for k in sorted({*old, *new}) for line in differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)]
    return [] if old == new else [f"  {where}: stored {json.dumps(old)}, asked for {json.dumps(new)}"]


class Store:
    """A result directory. Opening creates it, or resumes it after comparing the request."""

    def __init__(self, path: str | os.PathLike, request: Mapping):
        self.path = Path(path)
        self.request = plain(request)
        self.manifest: dict[str, Any] = {}
        file = self.path / "manifest.json"
        if file.exists():
            try:
                self.manifest = json.loads(file.read_text())
                stored = self.manifest["request"]
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"{file} cannot be read ({error}); choose another store directory") from None
            if changed := differences(stored, self.request):
                raise InputError(
                    "\n".join([f"{self.path} holds the results of another request; choose another store directory:", *changed])
                )
        elif self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise InputError(f"{self.path} exists and is no result directory; choose another store directory")

    @property
    def plan(self) -> dict | None:
        """The stored plan, which a resumed sweep follows."""
        return self.manifest.get("plan")

    def begin(self, plan: Mapping) -> None:
        """Create the directory, or check that the plan is the stored one."""
        if self.plan is not None:
            if changed := differences(self.plan, plain(plan)):
                raise InputError(
                    "\n".join(
                        [
                            f"{self.path} was planned differently (another version of jaxtheory?); choose another store directory:",
                            *changed[:8],
                        ]
                    )
                )
            for leftover in (*self.path.glob(".tmp-*"), *(self.path / "parts").glob(".tmp-*")):
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            return
        try:
            (self.path / "parts").mkdir(parents=True, exist_ok=True)
            self.manifest = {
                "format": FORMAT,
                "request": self.request,
                "plan": plain(plan),
                "keys": KEYS,
                "versions": versions(),
                "parts": {},
            }
            self._save()
        except OSError as error:
            raise InputError(f"store {self.path}: {error.strerror or error}; choose a directory that can be written") from None

    def _save(self) -> None:
        write_atomically(self.path / "manifest.json", json.dumps(self.manifest, indent=1).encode())

    def read(self, name: str) -> dict[str, np.ndarray] | None:
        """A finished part, or None when it is missing or damaged."""
        entry = self.manifest["parts"].get(name)
        file = self.path / "parts" / f"{name}.npz"
        if entry is None or not file.exists():
            return None
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            return None
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {k: arrays[k] for k in arrays.files}

    def write(self, name: str, arrays: Mapping[str, np.ndarray], seconds: float) -> None:
        """Keep a finished part: first the file, then its checksum."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{k: np.asarray(v) for k, v in arrays.items()})
        data = buffer.getvalue()
        write_atomically(self.path / "parts" / f"{name}.npz", data)
        self.manifest["parts"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "seconds": round(seconds, 3)}
        self._save()

    def finish(self, dataset: Any) -> None:
        """Assemble data.zarr beside the target and rename it."""
        target = self.path / "data.zarr"
        if target.exists():
            return
        temporary = Path(tempfile.mkdtemp(dir=self.path, prefix=".tmp-"))
        with warnings.catch_warnings():  # zarr warns that string types and consolidation are not final; tests read both back
            warnings.simplefilter("ignore")
            dataset.to_zarr(temporary / "data.zarr", mode="w", consolidated=True)
        os.replace(temporary / "data.zarr", target)
        temporary.rmdir()

    def discard_dataset(self) -> None:
        """Remove data.zarr, because a part is being computed again."""
        shutil.rmtree(self.path / "data.zarr", ignore_errors=True)
