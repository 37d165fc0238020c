"""Sizes are padded where one program is done before several, in theories that are trusted."""

import numpy as np
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import plan
from jaxtheory.engine.planning import padding as trusted_padding


def test_auto_pads_where_one_program_is_done_before_several():
    """Near sizes always; far ones while compilation takes longer than the steps; each field by
    itself.
    """
    long = {"steps": 10**6, "seeds": 8}
    near = plan(THEORY, Config(), vary={"d": [80, 90, 100]}, **long)
    far = plan(THEORY, Config(), vary={"d": [2, 3, 4000]}, **long)
    short = plan(THEORY, Config(), vary={"d": [2, 3, 40]}, steps=5)
    mixed = plan(THEORY, Config(), vary={"d": [2, 3, 4000], "B": [12, 14, 16]}, **long)
    assert near.compilations == short.compilations == 1 and far.compilations == 3
    assert mixed.compilations == 3 and {b.sizes["batch_size"] for b in mixed.buckets} == {16}


def scaled(c):
    """The worked example with metrics that no process has seen."""

    def metrics(params, problem, config):
        base_metrics = THEORY.metrics(params, problem, config)
        return {**base_metrics, "loss": c * base_metrics["loss"]}

    return THEORY._replace(metrics=metrics, predict=lambda problem, config, steps: {})


def test_auto_pads_what_has_passed():
    options = {"vary": {"dimension": [3, 4]}, "steps": 2}
    fresh = scaled(np.random.default_rng().uniform())
    assert jaxtheory.plan(fresh, Config(), **options).compilations == 2
    assert jaxtheory.plan(fresh, Config(), **options, buckets="pad").compilations == 1
    assert jaxtheory.verify(fresh).passed
    assert jaxtheory.plan(fresh, Config(), **options).compilations == 1
    assert jaxtheory.plan(scaled(2.0), Config(), **options).compilations == 2
    if (note := trusted_padding._notes()) is not None:
        (note / trusted_padding._digest_of(fresh)).unlink()
    trusted_padding._passed.discard(trusted_padding._digest_of(fresh))
    assert not trusted_padding.trusted(fresh)
