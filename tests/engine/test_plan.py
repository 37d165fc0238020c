import jax
import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import plan, sweep
from jaxtheory.core.config import canonical, leaf_names
from jaxtheory.core.errors import InputError
from jaxtheory.engine import plan as planning
from jaxtheory.engine.planning import cost, memory
from jaxtheory.engine.request.jaxprs import reads
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get


def test_problems_runs_and_points():
    """Seeds and fields that problem or sample read name a problem; the others share it; evaluation
    fields add no run.
    """
    made = plan(
        THEORY,
        Config(),
        vary={"eta": [0.1, 0.2, 0.3], "noise": [0.1, 0.2], "theta": [0.0, 0.1]},
        seeds=4,
        steps=5,
    )
    assert (made.points, made.problems, made.runs, made.compilations) == (12, 8, 24, 1)
    assert (
        made.buckets[0].shared == ("noise",)
        and made.buckets[0].own == ("learning_rate",)
        and made.buckets[0].values == ("threshold",)
    )


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


def test_what_is_counted_grows_with_what_is_asked():
    asked = {"vary": {"eta": [0.1, 0.2]}, "steps": 50}
    small = plan(THEORY, Config(), **asked)
    for more in ({"seeds": 64}, {"steps": 5000}, {"record": 1, "steps": 5000}):
        large = plan(THEORY, Config(), **{**asked, **more})
        assert large.seconds > small.seconds and large.memory_bytes >= small.memory_bytes
    assert not small.measured and small.memory_bytes > 100 * 2**20  # this process itself


def test_what_does_not_fit_is_refused_before_it_runs(monkeypatch):
    """With the bytes, and the sizes that make them."""
    monkeypatch.setattr(memory, "_limit", lambda: 2**30)
    asked = {"steps": 3, "dtype": "float32"}
    for door in (plan, sweep):
        with pytest.raises(
            InputError, match=r"holds .* GiB at once, and there are 1 GiB; lower .*\(B\)"
        ):
            door(THEORY, Config(batch_size=10**9), **asked)
    assert plan(THEORY, Config(batch_size=1000), **asked).points == 1


def test_more_chunks_than_can_be_listed_are_refused(monkeypatch):
    monkeypatch.setattr(planning, "CHUNKS", 10)
    assert len(plan(THEORY, Config(), seeds=1000, steps=5).chunks) <= 10
    with pytest.raises(InputError, match=r"1e\+06 runs .* chunks, .* other keys"):
        plan(THEORY, Config(), seeds=10**6, steps=5)


def test_a_static_axis_makes_a_bucket_each():

    theory = get("random_walk")
    small = theory.Config(num_states=3, length=4, num_sequences=5, encoding_dim=4)
    made = plan(
        theory,
        small,
        vary={
            "loss_function": ["log", "square"],
            "eta": [0.1, 1.0],
            "algorithm": ["reduced", "literal"],
        },
        steps=2,
    )
    assert made.compilations == 4 and made.runs == 8


def test_reads_finds_exactly_what_matters():
    config = canonical(Config(), np.float64)
    names = leaf_names(config)
    key = jax.random.key(0)
    problem = jax.eval_shape(THEORY.problem, key, config)
    assert reads(THEORY.problem, config, names, key) == set()
    assert reads(THEORY.sample, config, names, key, problem) == {"noise"}


def test_runs_side_by_side_leave_no_rest_where_half_of_them_or_more_do():
    assert [planning.without_rest(3, width) for width in (1, 2, 3, 64)] == [1, 1, 3, 3]
    assert [planning.without_rest(12, width) for width in (5, 8, 11)] == [4, 6, 6]
    assert planning.without_rest(31, 16) == 16  # a prime number: a rest of 15, not 31 alone
    for runs in range(1, 65):
        for width in range(1, 65):
            found = planning.without_rest(runs, width)
            assert min(runs, width) / 2 <= found <= min(runs, width)


def test_lanes_side_by_side_share_the_equations_and_each_has_its_arrays():
    one = cost.Work(equations=8.0, bytes=3.0, flops=5.0, largest=7)
    assert one.beside(4) == one._replace(equations=2.0)
    request = read(THEORY, Config(), vary={"eta": [0.1, 0.2, 0.3]}, seeds=4, steps=5)
    bucket = planning.make(request).buckets[0]
    found = cost.costs(THEORY, bucket.algorithm, bucket.template, request.schedule.records)
    least = planning.price(request, bucket, found).memory
    for slot in ("look", "analyses", "predict"):
        larger = found._replace(**{slot: getattr(found, slot)._replace(largest=1 << 30)})
        known = max(found.look.largest, found.analyses.largest, found.predict.largest)
        lanes = planning.workers() * bucket.layout.rows * bucket.layout.width
        more = planning.price(request, bucket, larger).memory - least
        assert more == lanes * ((1 << 30) - known)


def test_compile_measures():
    made = plan(THEORY, Config(), vary={"eta": [0.1, 0.2]}, steps=50, compile=True)
    assert made.measured and made.seconds > 0 and made.rows()[0]["seconds"] > 0


def test_values_that_axes_replace_need_not_fit_together():
    low_rank = get("low_rank")
    config = low_rank.Config(dimension=6)  # fewer than the default M = 20 patterns
    assert plan(low_rank, config, vary={"num_patterns": [3, 5]}, steps=2).points == 2
    with pytest.raises(InputError, match=r"^at num_patterns=7: num_patterns \(M\) = 7: .*$"):
        plan(low_rank, config, vary={"num_patterns": [3, 7]}, steps=2)


def test_counts_are_kept_for_what_traces_alike():
    walk = get("random_walk")
    plain = walk.Config()
    other = [
        plain.replace(num_states=7),
        plain.pad(num_states=9),
        plain.replace(loss_function="hinge"),
        canonical(plain, np.float32),
    ]
    assert cost.Alike(plain) == cost.Alike(plain.replace(learning_rate=0.25))
    assert all(cost.Alike(plain) != cost.Alike(config) for config in other)
    first = cost.Alike(plain)
    with jax.enable_x64(False):
        assert cost.Alike(plain) != first
    small, large, again = (
        cost.step_work(walk, "reduced", config)[0].bytes for config in (plain, other[1], plain)
    )
    assert small == again < large
