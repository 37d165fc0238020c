"""Flax networks on the data laws of tasks: does a mechanism survive in a standard Transformer?

`transformer(task)` is a theory of the standard Transformer, and `jaxtheory.from_flax` makes one of
any Flax module. Flax is imported when a name of this module is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtheory.networks.attention import attend as attend
    from jaxtheory.networks.decoder import Transformer as Transformer
    from jaxtheory.networks.effects import edge_effects as edge_effects
    from jaxtheory.networks.effects import head_effects as head_effects
    from jaxtheory.networks.interventions import ablate as ablate
    from jaxtheory.networks.interventions import cut_edges as cut_edges
    from jaxtheory.networks.interventions import intervene as intervene
    from jaxtheory.networks.interventions import patch as patch
    from jaxtheory.networks.low_rank import cut as cut
    from jaxtheory.networks.optimizer import adamw as adamw
    from jaxtheory.networks.standard import transformer as transformer
    from jaxtheory.networks.standard import transformer_config as transformer_config

_PUBLIC = {
    "Transformer": "decoder",
    "ablate": "interventions",
    "adamw": "optimizer",
    "attend": "attention",
    "cut": "low_rank",
    "cut_edges": "interventions",
    "edge_effects": "effects",
    "head_effects": "effects",
    "intervene": "interventions",
    "patch": "interventions",
    "transformer": "standard",
    "transformer_config": "standard",
}
__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module = importlib.import_module(f"jaxtheory.networks.{_PUBLIC[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'jaxtheory.networks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
