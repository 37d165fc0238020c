"""A part: the entries of a chunk, cut to each point's own sizes and steps."""

import numpy as np
from helpers.worked_example import THEORY, Config

from jaxtheory import run_key, simulate
from jaxtheory.engine.compute.part import diverged_entries
from jaxtheory.engine.execution.local import run_chunk
from jaxtheory.engine.planning.planner import plan_request
from jaxtheory.engine.records import Part
from jaxtheory.engine.request.request import read

OPTIONS = {"steps": 0, "dtype": "float64"}


def test_entries_are_those_of_single_runs_and_nan_beyond_their_sizes_and_steps():
    vary = {"d": [2, 4], "steps": [3, 5]}
    request = read(THEORY, Config(batch_size=5), vary=vary, buckets="pad", **OPTIONS)
    parts = [run_chunk(request, chunk) for chunk in plan_request(request).chunks]
    assert sorted(np.concatenate([part.point for part in parts])) == [0, 1, 2, 3]
    for part, entry in [(piece, n) for piece in parts for n in range(len(piece.point))]:
        point = part.point[entry]
        assert part.place[entry] == 0
        config, _, steps = request.points.point(int(point))
        run = simulate(THEORY, config, run_key(0, 0), steps=steps, record=1, dtype="float64")
        n = config.dimension.n
        weights, law = part.values["metric/weights"][entry], part.values["predicted/loss"][entry]
        late = request.schedule.records > steps
        early = request.schedule.records[~late]
        np.testing.assert_allclose(weights[~late, :n], run.metrics["weights"][early], rtol=1e-12)
        assert weights.shape[1] == 4 and np.isnan(weights[:, n:]).all()
        assert np.isnan(law[late]).all() and np.isfinite(law[~late]).all()
        assert np.isnan(weights[late]).all()


def test_diverged_entries_are_those_with_a_step():
    part = Part(np.arange(3), np.zeros(3, int), {"diverged_at": np.array([-1, 0, 7])})
    assert diverged_entries(part).tolist() == [1, 2]
