"""No theory hands LAPACK several matrices at a time, also where its runs are vmapped.

Two such calls in one program can wait for each other's threads for ever (docs/decisions/0009).
"""

import jax
import numpy as np
import pytest

from jaxtheory import theories
from jaxtheory.core.config import canonical
from jaxtheory.engine.request.jaxprs import factorizes


@pytest.mark.parametrize("name", theories.names())
def test_lapack_gets_one_matrix_at_a_time(name):
    theory = theories.get(name)
    for config in {jax.tree.structure(c): c for c in theory.examples}.values():
        config = canonical(config, "float64")

        def everything(key, config):
            problem = theory.problem(key, config)
            params = theory.init(key, problem, config)
            outputs = [theory.metrics(params, problem, config)]
            outputs += [theory.analyses(params, problem, config), theory.baselines(problem, config)]
            outputs += [theory.predict(problem, config, np.arange(3, dtype=np.int32))]
            for algorithm in theory.algorithms.values():
                state = algorithm.init(key, problem, config)
                batch = (algorithm.sample or theory.sample)(key, problem, config)
                t = jax.numpy.zeros((), np.int32)
                outputs.append(algorithm.step(key, t, state, batch, problem, config))
            return problem, outputs

        keys = jax.random.split(jax.random.key(0), 3)
        evaluate = jax.vmap(everything, in_axes=(0, None))
        assert not factorizes(jax.make_jaxpr(evaluate)(keys, config).jaxpr), config
