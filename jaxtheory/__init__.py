"""jaxtheory simulates transformer learning theory and compares its claims with measurements.

    import jaxtheory
    theory = jaxtheory.theories.get("random_walk")
    run = jaxtheory.simulate(theory, theory.Config(), jaxtheory.run_key(0, 0), steps=50)
    data = jaxtheory.sweep(theory, theory.Config(), vary={"p": [0.5, 0.7]}, seeds=4, steps=50)

A sweep computes as many chunks concurrently as there are accelerators, or CPU cores if there are
none; `JAXTHEORY_DEVICES=1` limits it to one.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory import claims as claims
    from jaxtheory import llama as llama
    from jaxtheory import networks as networks
    from jaxtheory import observables as observables
    from jaxtheory import tasks as tasks
    from jaxtheory import theories as theories
    from jaxtheory.claims import catalog
    from jaxtheory.claims.claim import Claim as Claim
    from jaxtheory.claims.figure import Figure as Figure
    from jaxtheory.claims.fits.collapse import collapse as collapse
    from jaxtheory.claims.fits.power_law import exponent as exponent
    from jaxtheory.claims.verdict import Verdict as Verdict
    from jaxtheory.claims.verdict import verdict as verdict
    from jaxtheory.core.check_theory import check_theory as check_theory
    from jaxtheory.core.config import Config as Config
    from jaxtheory.core.config import Size as Size
    from jaxtheory.core.config import evaluation as evaluation
    from jaxtheory.core.config import size as size
    from jaxtheory.core.config import static as static
    from jaxtheory.core.config import traced as traced
    from jaxtheory.core.from_optax import OptimizerState as OptimizerState
    from jaxtheory.core.from_optax import from_optax as from_optax
    from jaxtheory.core.task import Task as Task
    from jaxtheory.core.theory import Algorithm as Algorithm
    from jaxtheory.core.theory import Check as Check
    from jaxtheory.core.theory import Theory as Theory
    from jaxtheory.core.validation import validate as validate
    from jaxtheory.engine.boundary import boundary as boundary
    from jaxtheory.engine.cluster import dask
    from jaxtheory.engine.execution import log as log
    from jaxtheory.engine.execution.progress import Progress as Progress
    from jaxtheory.engine.plan import plan as plan
    from jaxtheory.engine.properties import above as above
    from jaxtheory.engine.properties import below as below
    from jaxtheory.engine.properties import diverged as diverged
    from jaxtheory.engine.results import statistics as statistics
    from jaxtheory.engine.simulate import Run as Run
    from jaxtheory.engine.simulate import simulate as simulate
    from jaxtheory.engine.store.datasets import open_store as open_store
    from jaxtheory.engine.store.merge import merge as merge
    from jaxtheory.engine.stored_run import load_params as load_params
    from jaxtheory.engine.stored_run import load_problem as load_problem
    from jaxtheory.engine.sweep import sweep as sweep
    from jaxtheory.margin import max_margin as max_margin
    from jaxtheory.networks.from_flax import from_flax as from_flax
    from jaxtheory.ops.draws import run_key as run_key
    from jaxtheory.plotting import plot as plot
    from jaxtheory.reports.explorer.explore import explore as explore
    from jaxtheory.texts.errors import InputError as InputError
    from jaxtheory.verification.gradients import Comparison as Comparison
    from jaxtheory.verification.gradients import compare_gradients as compare_gradients
    from jaxtheory.verification.verify import verify as verify

    figures, cluster = catalog, dask

__version__ = "0.1.0"

# Public names and their modules, loaded at first use, so that `jaxtheory --help` does not wait for
# JAX.
_PUBLIC = {
    **dict.fromkeys(("Config", "Size", "evaluation", "size", "static", "traced"), "core.config"),
    "validate": "core.validation",
    **dict.fromkeys(("Algorithm", "Check", "Theory"), "core.theory"),
    "Task": "core.task",
    "check_theory": "core.check_theory",
    "Claim": "claims.claim",
    "Figure": "claims.figure",
    **dict.fromkeys(("Verdict", "verdict"), "claims.verdict"),
    "collapse": "claims.fits.collapse",
    "exponent": "claims.fits.power_law",
    **dict.fromkeys(("Run", "simulate"), "engine.simulate"),
    **dict.fromkeys(("Comparison", "compare_gradients"), "verification.gradients"),
    "explore": "reports.explorer.explore",
    "max_margin": "margin",
    "InputError": "texts.errors",
    **dict.fromkeys(("OptimizerState", "from_optax"), "core.from_optax"),
    "from_flax": "networks.from_flax",
    "boundary": "engine.boundary",
    **dict.fromkeys(("above", "below", "diverged"), "engine.properties"),
    "merge": "engine.store.merge",
    "open_store": "engine.store.datasets",
    "Progress": "engine.execution.progress",
    **dict.fromkeys(("load_params", "load_problem"), "engine.stored_run"),
    "run_key": "ops.draws",
    "plan": "engine.plan",
    "sweep": "engine.sweep",
    "verify": "verification.verify",
}
_MODULES = {
    "theories": "theories",
    "tasks": "tasks",
    "llama": "llama",
    "networks": "networks",
    "claims": "claims",
    "figures": "claims.catalog",
    "plot": "plotting.plot",
    "observables": "observables",
    "statistics": "engine.results.statistics",
    "cluster": "engine.cluster.dask",
    "log": "engine.execution.log",
    "draws": "ops.draws",
    "attention": "ops.attention",
    "linalg": "ops.linalg",
    "sizes": "ops.sizes",
}
__all__ = [*_PUBLIC, *_MODULES]


importlib.import_module("jaxtheory.system.backend")  # records the id of this process


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"jaxtheory.{_MODULES[name]}")
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"jaxtheory.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'jaxtheory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
