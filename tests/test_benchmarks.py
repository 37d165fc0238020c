"""The baselines of the benchmarks give the engine's numbers, and the table is built of timings as
it says.
"""

import functools
import json
import threading

import jax
import numpy as np
import pytest
from accelerator import kernels
from benchmarks import (
    accelerator,
    attention_pruning,
    bench,
    boundaries,
    causal_graph,
    contextual_bigram,
    decide,
    factual_recall,
    floor,
    group_sparse,
    in_context_regression,
    lanes,
    low_rank,
    nearest_neighbor,
    picture,
    processes,
    products,
    profiles,
    random_walk,
    table,
    task_diversity,
    timing,
    workers,
)
from benchmarks.floor import Work
from benchmarks.study import ByHand, Study

import jaxtheory
from jaxtheory.cli.main import main
from jaxtheory.engine import search as searching
from jaxtheory.engine.compute import precompile, program
from jaxtheory.engine.planning import planner
from jaxtheory.ops import draws
from jaxtheory.system import backend
from tests.reference.agree import agree

STEPS = 3


@pytest.fixture(autouse=True)
def plain_jax():
    """Baselines are written as a user of JAX writes, without the house's strictness."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def tiny(module, **sizes):
    """The study of a module at small sizes, two values, two seeds."""
    study = module.STUDY
    return study._replace(
        config=study.config.replace(**sizes), values=study.values[:2], seeds=2, steps=STEPS
    )


WALK = tiny(random_walk, num_states=5, length=6, encoding_dim=9, num_sequences=12)
MASKS = tiny(attention_pruning, dimension=5, length=7, num_sequences=2, rank=2, logit_scale=5.0)
BIGRAM = tiny(contextual_bigram, length=6, batch_size=4)
PROMPTS = tiny(nearest_neighbor, dimension=3, context=4, num_prompts=6, num_test=5)
GROUPS = tiny(group_sparse, group_dim=3, num_groups=4, num_samples=9, downstream_samples=3)
REGRESSION = tiny(in_context_regression, dimension=3, length=5, heads=4, num_prompts=9)
CHAINS = tiny(causal_graph, num_states=3, length=6, num_prompts=9, switch_step=2)
DIVERSITY = tiny(task_diversity, dimension=3, length=5, num_prompts=9, num_tasks=2, ridge=0.1)
FACTS = tiny(factual_recall, num_subjects=3, num_answers=3, num_noise=4, length=4, num_draws=2)
LAYER = tiny(
    low_rank, num_patterns=4, dimension=5, num_neurons=6, num_samples=8, num_test=4, batch_size=3
)


def training_alone(theory):
    """The theory without what comes at the end of a run."""
    return theory._replace(
        baselines=lambda problem, config: {},
        analyses=lambda params, problem, config: {},
        predict=lambda problem, config, steps: {},
    )


@functools.cache
def trained_layer():
    return last(LAYER)


def last(study: Study, algorithm=None):
    """The trained parameters of the first value and seed, its problem and config."""
    config = study.points()[0]
    key, steps = jaxtheory.run_key(0, 0), study.steps
    options = {"steps": steps, "record": [steps], "algorithm": algorithm}
    theory = training_alone(study.theory)._replace(metrics=lambda params, problem, config: {})
    run = jaxtheory.simulate(theory, config, key, **options)
    return jax.tree.map(np.asarray, run.params), study.problems()[0], config


def same(got, want):
    for a, b in zip(got, want, strict=True):
        agree(a, b, 1e-9)


def test_walk():
    params, problem, config = last(WALK)
    want = params.V, params.u, params.w
    same(random_walk.by_numpy(problem, config, STEPS), want)
    V, W = map(np.asarray, random_walk.by_jax(problem, config, STEPS))
    K, M, N = config.num_states.n, config.encoding_dim.n, config.length.n
    P = np.sin(np.pi / (M + 1) * np.outer(np.arange(1, N + 1), np.arange(1, M + 1)))
    image = W[:, K:] @ P[-1]
    same((V, image[:K], P @ image[K:]), want)
    for carried in (random_walk.by_softmax, random_walk.by_factors):
        same(random_walk.reduced(carried)(problem, config, STEPS), want)


def test_masks():
    params, problem, config = last(MASKS)
    for train in (attention_pruning.by_numpy, attention_pruning.by_jax):
        agree(train(problem, config, STEPS), params.mask, 1e-9)


@pytest.mark.slow
def test_bigram():
    """On the engine's batches; those that the baselines draw have the same shapes."""
    params, problem, config = last(BIGRAM)
    B, N = config.batch_size.n, config.num_states.n
    mu, eye = problem.stationary, np.eye(N)
    plain, tuned = (contextual_bigram.Numpy(problem, config, fast) for fast in (False, True))
    again, update = (plain.A, plain.V), jax.jit(contextual_bigram.update)
    key = jax.random.fold_in(draws.run_key(0, 0), draws.STEPS)
    for t in range(STEPS):
        drawn = jax.random.fold_in(jax.random.fold_in(key, t), 0)
        batch = [np.asarray(x) for x in BIGRAM.theory.sample(drawn, problem, config)]
        plain.update(batch)
        tuned.update(batch)
        hot = tuple(eye[x] for x in batch)
        eta, lam = config.late_learning_rate, config.l1
        again = update(again, hot, problem, eta, lam)
    for side in ((plain.A, plain.V), again):
        same(side, params)
    agree(tuned.A, params.attention, 1e-4)
    mine, theirs = plain.sample(), contextual_bigram.draw(key, problem, B)
    assert [x.shape for x in mine] == [x.shape for x in batch] and mu.shape == (N,)
    assert [x.shape for x in theirs] == [x.shape for x in hot]
    assert contextual_bigram.by_jax(problem, config, STEPS)[0].shape == params.attention.shape


def test_prompts():
    params, problem, config = last(PROMPTS, "literal")
    for train in (nearest_neighbor.by_numpy, nearest_neighbor.by_jax):
        agree(train(problem, config, STEPS), params.W, 1e-9)
    params, problem, config = last(PROMPTS)
    xi = nearest_neighbor.by_parameters(problem, config, STEPS)
    same(xi, (params.xi1, params.xi2))


def test_groups():
    p, problem, config = last(GROUPS)
    want = np.concatenate([p.v1, p.v2]), np.block([[p.W11, p.W12], [p.W21, p.W22]])
    for train in (group_sparse.by_numpy, group_sparse.by_jax):
        same(train(problem, config, STEPS), want)


def test_regression():
    p, problem, config = last(REGRESSION)
    want = p.v, p.K[:, 0], p.Q[:, 0]
    for train in (
        in_context_regression.by_numpy,
        in_context_regression.by_jax,
        in_context_regression.by_moments,
    ):
        same(train(problem, config, STEPS), want)


def test_chains():
    want, problem, config = last(CHAINS)
    for train in (causal_graph.by_numpy, causal_graph.by_jax):
        same(train(problem, config, STEPS), want)


def test_diversity():
    want, problem, config = last(DIVERSITY)
    for train in (task_diversity.by_numpy, task_diversity.by_jax, task_diversity.by_gram):
        same(train(problem, config, STEPS), want)


def test_facts():
    params, problem, config = last(FACTS)
    columns = [block.reshape(-1, block.shape[-1]) for block in params.W]
    want = np.concatenate(columns, axis=1), np.concatenate(params.u)
    for train in (factual_recall.by_numpy, factual_recall.by_jax):
        same(train(problem, config, STEPS), want)


@pytest.mark.slow
def test_layer():
    params, problem, config = trained_layer()
    want = params.query[0, 0], params.key[0, 0], params.value[0, 0], params.output
    places = np.stack([low_rank.chosen(t, problem, config) for t in range(STEPS)])
    for train in (low_rank.by_numpy, low_rank.by_jax):
        same(train(problem, config, STEPS, places), want)
        assert [x.shape for x in train(problem, config, 1)] == [x.shape for x in want]


@pytest.mark.slow
def test_curves():
    params, problem, config = trained_layer()
    params = jax.tree.map(jax.numpy.asarray, params)
    curves = np.asarray(low_rank.at_rates(params, problem, config))
    one = low_rank.one_by_one(params, problem, config)
    for rate_, order in ((0, 0), (100, 1), (150, 4), (200, 3)):
        agree(curves[rate_, order], one(rate_, order), 1e-12)


def test_by_hand():
    """The hand-written loop gives the metrics of the sweep, at its records, on its batches."""
    study = BIGRAM._replace(theory=training_alone(BIGRAM.theory))
    hand = ByHand(study)
    metrics, _ = hand.run()
    data = study.sweep()
    assert data.step.values.tolist() == hand.records.tolist()
    for name in metrics[0]:
        got = data[name].transpose("seed", study.field, "step", ...).values
        agree(got, np.stack([record[name] for record in metrics], axis=2), 1e-9)


def test_boundaries(monkeypatch):
    """A search trains as many rounds as the bare loop, and the grid has its resolution."""
    sizes = {"group_dim": 2, "num_groups": 3, "num_samples": 20, "downstream_samples": 3}
    study = boundaries.STUDY._replace(
        config=boundaries.STUDY.config.replace(**sizes), seeds=2, steps=STEPS
    )
    trained = []
    monkeypatch.setattr(
        searching,
        "plan_request",
        lambda request, plan=searching.plan_request, **options: (
            trained.append(request.runs) or plan(request, **options)
        ),
    )
    high = lambda data: data.learning_rate_value > 0.7
    monkeypatch.setattr(jaxtheory, "below", lambda name, limit: high)
    brackets = boundaries.search(study)
    assert (brackets.high / brackets.low <= 1 + boundaries.TOLERANCE).all()
    assert trained == [2 * 8] * boundaries.rounds(study)
    grid = boundaries.grid(study)
    assert grid[1:].max() / grid[:-1].max() <= 1 + boundaries.TOLERANCE
    assert (grid[0], grid[-1]) == pytest.approx((0.05, 5.0)) and len(grid) > 10 * sum(trained) / 2
    assert [line.goal for line in boundaries.group(study).lines] == [1.3, 0.1]


def test_timings():
    """A long side is timed on its part and multiplied, a short one as a whole; the first call is
    apart.
    """
    calls = []

    def clock(function):
        calls.append(function())
        first = calls.count(calls[-1]) == 1
        return {"ours": 2.0, "whole": 9.0, "part": 1.5}[calls[-1]] + 4 * first, 0.5

    side = lambda name: lambda: name
    sides = {
        "ours": timing.Side(side("ours")),
        "short": timing.Side(side("whole"), side("part"), 6),
        "long": timing.Side(side("whole"), side("part"), 8),
    }
    times = timing.alternating(sides, 3, clock)
    assert times["ours"] == timing.Timed([2.0] * 3, [0.5] * 3, 4.0, False)
    assert times["short"] == timing.Timed([9.0] * 3, [0.5] * 3, 4.0, False)
    assert times["long"].seconds == [12.0] * 3 and times["long"].extrapolated
    assert calls[-3:] == ["ours", "whole", "part"]
    calls.clear()
    times = timing.alternating({"once": timing.Side(side("ours"))}, 0, clock)
    assert times == {"once": timing.Timed([6.0], [0.5], 0.0, False)} and len(calls) == 1


def test_rows():
    """Ratios are medians over rounds, "faster" against "cost"; goals, floors, marks and words."""
    timed = {
        "a": timing.Timed([1.0, 2.0, 4.0], [1.0, 1.0, 1.0], 7.0, False),
        "b": timing.Timed([10.0, 10.0, 10.0], [0.9, 1.0, 2.0], 0.0, True),
    }
    lines = [
        table.Line("fast", "a", "b", "faster", 5),
        table.Line("slow", "a", "b", "faster", 6),
        table.Line("dear", "a", "b", "cost", 0.2),
        table.Line("cpu", "a", "b", "cpu", 1.08),
        table.Line("none", "a", "b", "faster"),
        table.Line("start", "a", "b", "within", 2),
        table.Line("start", "b", "a", "within", 9.5),
    ]
    group = table.Group("walk", "small", {}, lines, {"a": Work(1, 1, 1)})
    rows = table.rows(group, timed, {"a": 0.5})
    assert [row.ratio for row in rows] == [5.0, 5.0, 0.2, 1.0, 5.0, None, None]
    assert [row.met for row in rows] == [True, False, True, True, None, True, False]
    assert [row.reached for row in rows] == [0.25, 0.25, 0.25, None, 0.25, 5.0, 0.2]
    assert [row.most for row in rows] == [20.0, 20.0, None, None, 20.0, None, None]
    words = table.cells(rows[0])
    assert words[:7] == ["walk", "fast", "2.00", "10.0 x", "5.00", "≥ 5", "yes"]
    assert table.cells(rows[1])[6] == "NO" and table.cells(rows[3])[1] == "cpu (CPU)"
    assert table.cells(rows[5])[2:9] == ["2.00", "", "", "≤ 2 s", "yes", "", ""]
    assert len(table.text(rows).splitlines()) == 8
    assert all(line.count("|") == table.SHOWN + 1 for line in table.markdown(rows).split("\n"))
    assert all(line.count("|") == 6 for line in table.waits(rows[5:]).split("\n"))
    assert table.records(rows)[0]["most"] == 20.0
    assert [table.row(record) for record in table.records(rows)] == rows


def test_the_picture_has_the_first_ratio_of_each_theory(tmp_path):
    defaults = {
        "setting": "",
        "ours": 2.0,
        "baseline": 1.0,
        "extrapolated": False,
        "compiling": 1.0,
    }
    make_row = lambda theory, name, ratio, goal, kind="faster": table.Row(
        theory, name, kind, **defaults, ratio=ratio, goal=goal, baseline_compiling=1.0, floor=0.5
    )
    rows = [
        make_row("low_rank", "vmapped JAX", 2.5, 3),
        make_row("low_rank", "full NumPy", 7.0, None),
        make_row("low_rank", "vmapped JAX", 9.0, 3),
        make_row("low_rank", "NumPy", 1.0, 2, "cpu"),
        make_row("walks", "NumPy", 1.0, 2),
    ]
    points = {kind.ending: ratios for kind, ratios in picture.points(rows).items() if ratios}
    assert points.pop("floor of the machine") == {"low_rank": (0.25, None)}
    want = {"vmapped JAX": {"low_rank": (2.5, False)}, "NumPy": {"low_rank": (7.0, None)}}
    assert points == want
    picture.draw(rows, tmp_path / "drawn.webp")
    assert (tmp_path / "drawn.webp").stat().st_size > 1000


def test_processes(tmp_path, monkeypatch):
    """A process has an empty folder and cache, unless they are kept; a failure is told."""
    monkeypatch.setenv("ARGS", "those of make bench")
    keep = "import os, pathlib; pathlib.Path(os.environ['XDG_CACHE_HOME']).touch()"
    code = f"{keep}; assert not os.listdir() and 'ARGS' not in os.environ; open('written', 'w')"
    process = processes.Process((*processes.PYTHON, code), tmp_path, cache="cache")
    process.run()
    process.run()
    assert (tmp_path / "cache").exists() and len(list(tmp_path.glob("*/written"))) == 2
    persistent = process._replace(folder="kept")
    persistent.run()
    with pytest.raises(processes.subprocess.CalledProcessError):
        persistent.run()


def test_processes_to_be_timed(tmp_path, monkeypatch, capsys):
    """First sweeps, start-up, walks and tests have goals; a package offers 1,000 figures."""
    groups = list(processes.within(tmp_path))
    names = list(jaxtheory.theories.names())
    assert [group.theory for group in groups[: len(names)]] == names
    goals = [line.goal for group in groups for line in group.lines]
    assert goals == [3] * len(names) + [0.05, 0.25, 2, 2, 1.9, 1.2, 100, 300]
    monkeypatch.syspath_prepend(tmp_path / "many")
    assert main(["list"]) == 0 and "figure_999" in capsys.readouterr().out


def test_workers(monkeypatch):
    """The other side has one worker; the process that is bound to one core ends with its group."""
    counts = []
    monkeypatch.setattr(workers, "STUDY", WALK)
    monkeypatch.setattr(Study, "ends", lambda study: counts.append(backend.workers()))
    monkeypatch.setenv("JAXTHEORY_DEVICES", "2")
    workers.one()
    (group,) = workers.groups()
    group.sides["two"].run()
    assert counts == [1, 2] and [line.goal for line in group.lines] == [1.6, None]


def test_the_readme_has_the_numbers_of_the_page():
    speeds = bench.speeds(bench.PAGE.read_text())
    assert speeds.count("\n") > 6 and f"\n{speeds}\n" in bench.README.read_text()


def test_rate(monkeypatch):
    """Amounts over seconds, all threads together: here every call takes .01 s of one clock."""
    lock, now = threading.Lock(), [0.0]

    def call(_):
        with lock:
            now[0] += 0.01

    monkeypatch.setattr(floor, "clock", lambda: now[0])
    for count in (1, 2):
        np.testing.assert_allclose(floor.rate(call, 3.0, count), 300)


def test_rows_of_an_accelerator(monkeypatch):
    """Rows of the device alone; one that fails, and one for which no time is left, are told."""
    for name in ("copying", "multiplying"):
        monkeypatch.setattr(floor, name, lambda _=None: 1e9)

    def fail():
        raise ValueError("out of memory\nat length")

    sides = dict.fromkeys(("sweep", "NumPy", "plain JAX"), timing.Side(lambda: None))
    lines = [
        table.Line("NumPy", "sweep", "NumPy", "faster", 9),
        table.Line("plain JAX", "sweep", "plain JAX", "faster"),
        table.Line("by hand", "sweep", "NumPy", "cpu", 1.08),
    ]
    sides["NumPy"] = timing.Side(fail)  # which is not run
    good = table.Group("walk", "small", sides, lines, {"sweep": Work(2, 1, 1)})
    bad = good._replace(setting="large", sides={**sides, "sweep": timing.Side(fail)})
    report = {"rates": {}, "rows": [], "lanes": [], "left": {}}
    accelerator.rows(iter([bad, good, good._replace(more=True)]), report, np.inf)
    assert report["left"] == {"walk: plain JAX: large": "ValueError: out of memory"}
    (row,) = report["rows"]
    assert row["matmul"] == pytest.approx(2 * row["bandwidth"])
    assert len(accelerator.row_cells(row)) == len(accelerator.ROW)
    accelerator.rows(iter([good]), report, -np.inf)
    assert report["left"]["walk: plain JAX: small"] == "no time was left"
    extra = {"rows": [], "lanes": [], "left": {"walk: plain JAX: large": "no time was left"}}
    row["theory"] = "random_walk"
    summary = accelerator.merged([report, report, extra])
    assert (summary["rows"], summary["left"]) == ([row], extra["left"])
    assert "no time was left" in accelerator.page(summary, ["here"])


def test_lanes():
    """Curves of two devices: equal, by rounding, by more, and by what a twin explains."""
    study = GROUPS._replace(theory=training_alone(GROUPS.theory))
    curves = lanes.curves(study)
    assert {value.shape[:2] for value in curves.values()} == {(2, 2)}
    local = lanes.Lanes(1.0, 2.0, curves, [curves])
    record = accelerator.side_by_side("groups", local, local)
    assert record["close"] == record["variables"] == len(curves) and record["largest"] == 0
    assert len(accelerator.lane_cells(record)) == len(accelerator.LANES)
    name, count = "loss", len(curves) - 1
    off = lambda by: curves | {name: curves[name] + by}
    assert lanes.compared(off(1e-6), local).close == count + 1
    comparison = lanes.compared(off(1e-2), local)
    assert (comparison.close, comparison.explained, set(comparison.mismatches)) == (
        count,
        0,
        {name},
    )
    assert "NO" in accelerator.lane_cells(record | comparison._asdict())
    comparison = lanes.compared(off(1e-2), local._replace(twins=[off(1e-4)]))
    assert (comparison.close, comparison.explained, comparison.mismatches) == (count, 1, {})
    near = lanes.compared(lanes.curves(lanes.nudged(study, 1e-6)), local)
    assert not near.mismatches and 0 < near.largest < 1e-4


def test_lanes_of_another_process(tmp_path, monkeypatch):
    """The file that the process has written; empty if it wrote none."""
    script = tmp_path / "script.py"
    write = "import pickle, sys; pickle.dump(sys.argv[2:], open(sys.argv[1], 'wb'))"
    for text, want in ((write, ["walk"]), ("pass", {}), ("import time; time.sleep(60)", {})):
        script.write_text(text)
        monkeypatch.setattr(lanes, "__file__", str(script))
        with accelerator.on_cpu(["walk"]) as wait:
            assert wait(1.0 if want == {} else 30.0) == want


def test_clock(monkeypatch):
    """A part's time stops while another runs within it, and what workers do replaces the wait."""
    now = [0.0]
    monkeypatch.setattr(floor, "clock", lambda: now[0])
    clock = profiles.Clock()

    def work(name, seconds):
        with clock.part(name):
            now[0] += seconds

    def chunk():
        with clock.part("Python"):
            now[0] += 1
            work("step", 2)
            now[0] += 3

    with clock.part("set-up"):
        now[0] += 5
        with clock.part("idle"):
            begun = now[0]
            thread = threading.Thread(target=chunk)
            thread.start()
            thread.join()
            now[0] = begun + 4  # two workers, of which one had nothing to do for two seconds
        work("assembly", 7)
    parts = {name: seconds for name, seconds in clock.parts(2).items() if seconds}
    assert parts == {"set-up": 5, "Python": 2, "step": 1, "idle": 1, "assembly": 7}
    assert sum(parts.values()) == now[0] == 16


def test_profile(monkeypatch):
    """The parts of a sweep add up to it; batches are apart where they are drawn."""
    monkeypatch.setattr(profiles, "time_call", lambda function: function() and 1e-6)
    draws_batches = {"bigram": True, "groups": False}
    for study, drawn in zip((BIGRAM, GROUPS), draws_batches.values(), strict=True):
        study = study._replace(theory=training_alone(study.theory))
        study.ends()
        seconds, parts, calls = profiles.clocked(study.ends)
        assert sum(parts.values()) == pytest.approx(seconds, abs=0.01)
        busy = ("set-up", "problems", "start", "step", "Python", "assembly")
        assert all(parts[name] > 0 for name in busy)
        slots = {int(call.args[3]) for call in calls.values()}
        assert slots == {1} and sum(call.steps for call in calls.values()) % STEPS == 0
        for function, call in calls.items():
            draw = profiles.drawing(function, call)
            assert (draw is not None) == drawn
            if draw is not None:  # the batches are not optimized away
                assert " xor(" in draw.lower(*call.args).compile().as_text()
        divided = profiles.divide(parts, calls)
        assert sum(divided.values()) == pytest.approx(sum(parts.values()))
        assert divided["dispatch"] > 0
    profile = profiles.Profile("groups", "small", 0.2, 0.3, divided, (0.1, 0.15), {"dot": 0.5})
    assert len(profiles.cells(profile)) == len(profiles.cells(profile._replace(floors=None)))
    assert len(profiles.cells(profile)) + 1 == len(profiles.HEAD)
    text = profiles.page(profiles.merged([{"profiles": [profile._asdict()]}]), ["here"])
    assert "| 50 % | 75 % | dot 50 % |" in text


def test_products():
    """Products that depend on the state are counted, as often as their loop runs."""
    a = np.ones((2, 3))

    def step(x):
        again = lambda y, _: (jax.numpy.tanh(y @ y.T @ y), None)
        return jax.lax.scan(again, x, None, 5)[0] + jax.jit(lambda x, y: x @ y)(a, a.T @ a)

    closed, counts = jax.make_jaxpr(step)(a), products.collections.Counter()
    products.follow(closed.jaxpr, set(closed.jaxpr.invars), counts)
    shapes = {shapes[:2]: count for shapes, count in counts.items()}
    assert shapes == {((2, 3), (3, 2)): 5, ((2, 2), (2, 3)): 5}


def test_measures_for_accelerators_are_taken_from_the_engine():
    with decide.without(decide.MEASURES):
        assert program.block_length(np.array([0, 64])) == 1 and not program.keeps(None, None)
        assert planner._SHARES["gpu"] == 4 and precompile.cores() == 1
    assert all({*measures} <= {*decide.MEASURES} for measures, _ in decide.VARIANTS.values())


@pytest.mark.slow
def test_a_row_of_decide_has_its_columns():
    row = decide.measured("task_diversity", quick=True)
    assert {*decide.COLUMNS[:-1], "loss"} == {*row}


def test_the_page_has_the_kernels_that_were_counted():
    (entry,) = json.loads(kernels.TABLE.read_text()).values()
    page = kernels.PAGE.read_text()
    assert (
        kernels.markdown(entry)
        in page.partition(kernels.MARKS[0])[2].partition(kernels.MARKS[1])[0]
    )
