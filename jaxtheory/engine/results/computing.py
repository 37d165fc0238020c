"""Hash of the modules of jaxtheory that decide the bits of a result.

The hash covers their source in normal form, constants included, and attributes that were replaced
since their import. This module imports them and reads their source at once, because a file that is
edited later does not describe the code that runs in this process.
"""

import functools
import hashlib
import importlib
from typing import Any

from jaxtheory.code import source
from jaxtheory.code.code_hash import DECIDING, code_hash

_MODULES = {name: importlib.import_module(name) for name in DECIDING}
_TEXTS = {name: source.text_of(name) for name in _MODULES}
_imported = {name: dict(vars(module)) for name, module in _MODULES.items()}


def digest() -> str:
    """Return a hash of the code that decides the bits in this process."""
    changed = _replaced()
    return code_hash((_of_texts(), changed)) if changed else _of_texts()


@functools.cache
def _of_texts() -> str:
    """Hash of the modules' source in normal form."""
    texts = sorted((name, source.normal_text(text)) for name, text in _TEXTS.items())
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:16]


def _replaced() -> dict[str, Any]:
    """Attributes of the modules that were replaced since their import, by name."""
    return {
        f"{module}.{name}": vars(_MODULES[module]).get(name)
        for module, before in _imported.items()
        for name, value in before.items()
        if vars(_MODULES[module]).get(name) is not value
    }
