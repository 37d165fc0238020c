"""Costs counted from jaxprs."""

import jax
import numpy as np
from helpers.worked_example import THEORY, Config

from jaxtheory.core.config import canonical
from jaxtheory.engine.planning import cost, planner
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get


def test_lanes_side_by_side_share_the_equations_and_each_has_its_arrays():
    one = cost.Work(equations=8.0, bytes=3.0, flops=5.0, largest=7)
    assert one.amortize(4) == one._replace(equations=2.0)
    request = read(THEORY, Config(), vary={"eta": [0.1, 0.2, 0.3]}, seeds=4, steps=5)
    bucket = planner.plan_request(request).buckets[0]
    costs = cost.costs(THEORY, bucket.algorithm, bucket.template, request.schedule.records)
    least = planner._price(request, bucket, costs).memory
    for slot in ("metrics", "analyses", "predict"):
        larger = costs._replace(**{slot: getattr(costs, slot)._replace(largest=1 << 30)})
        known = max(costs.metrics.largest, costs.analyses.largest, costs.predict.largest)
        lanes = planner.workers() * bucket.layout.rows * bucket.layout.width
        more = planner._price(request, bucket, larger).memory - least
        assert more == lanes * ((1 << 30) - known)


def test_counts_are_kept_for_what_traces_alike():
    walk = get("random_walk")
    plain = walk.Config()
    variants = [
        plain.replace(num_states=7),
        plain.pad(num_states=9),
        plain.replace(loss_function="hinge"),
        canonical(plain, np.float32),
    ]
    assert cost.Alike(plain) == cost.Alike(plain.replace(learning_rate=0.25))
    assert all(cost.Alike(plain) != cost.Alike(config) for config in variants)
    first = cost.Alike(plain)
    with jax.enable_x64(False):
        assert cost.Alike(plain) != first
    small, large, again = (
        cost.step_work(walk, "reduced", config)[0].bytes for config in (plain, variants[1], plain)
    )
    assert small == again < large
