"""`plan`: points, problems, runs, and estimates that grow with what is asked."""

from helpers.worked_example import THEORY, Config

from jaxtheory import plan


def test_problems_runs_and_points():
    """Seeds and fields that problem or sample read name a problem; the others share it; evaluation
    fields add no run.
    """
    sweep_plan = plan(
        THEORY,
        Config(),
        vary={"eta": [0.1, 0.2, 0.3], "noise": [0.1, 0.2], "theta": [0.0, 0.1]},
        seeds=4,
        steps=5,
    )
    assert (sweep_plan.points, sweep_plan.problems, sweep_plan.runs, sweep_plan.compilations) == (
        12,
        8,
        24,
        1,
    )
    assert (
        sweep_plan.buckets[0].shared == ("noise",)
        and sweep_plan.buckets[0].run_fields == ("learning_rate",)
        and sweep_plan.buckets[0].values == ("threshold",)
    )


def test_what_is_counted_grows_with_what_is_asked():
    options = {"vary": {"eta": [0.1, 0.2]}, "steps": 50}
    small = plan(THEORY, Config(), **options)
    for more in ({"seeds": 64}, {"steps": 5000}, {"record": 1, "steps": 5000}):
        large = plan(THEORY, Config(), **{**options, **more})
        assert large.seconds > small.seconds and large.memory_bytes >= small.memory_bytes
    assert not small.measured and small.memory_bytes > 100 * 2**20  # this process itself


def test_compile_measures():
    sweep_plan = plan(THEORY, Config(), vary={"eta": [0.1, 0.2]}, steps=50, compile=True)
    assert sweep_plan.measured and sweep_plan.seconds > 0 and sweep_plan.rows()[0]["seconds"] > 0
