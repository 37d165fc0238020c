"""Compiled functions and their cache."""

import threading
from collections.abc import Callable
from typing import Any

import jax

from jaxtheory.code import traces
from jaxtheory.engine.request.jaxprs import factorization_lock, factorizes
from jaxtheory.engine.request.settings import compiler_options

# compiled functions that are cached: each holds about 100 memory maps, and Linux allows a process
# 65530, beyond which jaxlib crashes
_LIVE = 48


class Compiled:
    """A jitted function that one thread compiles while others wait for it.

    LLVM's level 2 takes half of the compilation time of level 3, and the code runs as fast
    (docs/decisions/0015). A function that factorizes matrices runs alone, see
    `jaxprs.factorizes`.

    It is traced and called under the code of the theory that came first, see `code.traces`; other
    theories that share it have the same code where it calls them.
    """

    def __init__(self, function: Callable, code: str):
        self.function: Any = jax.jit(function, compiler_options=compiler_options(level=2))
        self.code = traces.present() or code
        self.lock = threading.Lock()
        self.begun = False
        self.ready = False
        self.factorizes = False

    def precompile(self, *shapes: Any) -> None:
        """Compile for arguments of these shapes, unless compilation has begun already."""
        with self.lock, traces.under(self.code):
            if not self.begun:
                self.begun = True
                self.function.lower(*shapes).compile()

    def shapes(self, *args: Any) -> Any:
        """Return the shapes of the result for arguments of these shapes."""
        with traces.under(self.code):
            return self.function.eval_shape(*args)

    def __call__(self, *args: Any) -> Any:
        if self.ready:
            return self.run(*args)
        with self.lock, traces.under(self.code):
            self.begun = True
            if jax.default_backend() == "cpu":
                self.factorizes = factorizes(self.function.trace(*args).jaxpr.jaxpr)
            out = jax.block_until_ready(self.run(*args))
            self.ready = True
        return out

    def run(self, *args: Any) -> Any:
        """Call the function; if it factorizes, wait until no other such function is running."""
        with traces.under(self.code):
            if not self.factorizes:
                return self.function(*args)
            with factorization_lock:
                return jax.block_until_ready(self.function(*args))


_compiled: dict[Any, Compiled] = {}  # in the order of their last use
_lock = threading.Lock()


def compiled(key: Any, function: Callable, code: str = "") -> Compiled:
    """Return the compiled function cached under a key and a hash of the code that it calls.

    It is made from `function` at first use.
    """
    with _lock:
        entry = _compiled.pop((key, code), None) or Compiled(function, code)
        _compiled[key, code] = entry
        if len(_compiled) > _LIVE:
            _compiled.pop(next(iter(_compiled))).function.clear_cache()
    return entry
