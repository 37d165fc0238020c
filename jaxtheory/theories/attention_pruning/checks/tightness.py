"""The measured curvature against the spectrum."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxtheory.core.theory import Check, Compared
from jaxtheory.theories.attention_pruning import model
from jaxtheory.theories.attention_pruning.analyses import tightness
from jaxtheory.theories.attention_pruning.checks import material
from jaxtheory.theories.attention_pruning.model import Config, FusedMask


def hessian_norm_spectrum(key: Array, config: Config) -> Compared:
    """Power iteration stays below the largest |eigenvalue| of the Hessian formed by autodiff."""
    problem, batch, fused, _ = material.setting(key, config)
    flat = lambda m: model.loss(FusedMask(m.reshape(fused.mask.shape)), batch, problem, config)  # noqa: E731
    spectrum = jnp.linalg.eigvalsh(jax.hessian(flat)(fused.mask.ravel()))
    return tightness.hessian_norm(fused, problem, config), jnp.max(jnp.abs(spectrum))


CHECKS = (Check("hessian_norm: below the spectral radius", "derived", "bound", hessian_norm_spectrum),)
