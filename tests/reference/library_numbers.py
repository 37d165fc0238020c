"""The library's numbers for the statistics of `replication`: the same configs, few seeds.

A function per theory returns {row: one value per seed}, in the order of that theory's script.
"""

import functools

import numpy as np
import xarray as xr

import jaxtheory
from jaxtheory.claims import crossing, exponent, last
from jaxtheory.theories import (
    attention_pruning,
    causal_graph,
    contextual_bigram,
    factual_recall,
    group_sparse,
    in_context_regression,
    low_rank,
    nearest_neighbor,
    positional_semantic,
    random_walk,
    task_diversity,
)
from jaxtheory.theories.low_rank.analyses.ranks import truncation
from sweeps.factual_recall import ALPHA, OBSERVED, fall, level

KEY = 7
Numbers = dict[str, np.ndarray]


def sweep(theory, config, **options):
    """`jaxtheory.sweep` in float32 with the key of this page."""
    return jaxtheory.sweep(theory, config, **{"key": KEY, "dtype": "float32"} | options)


def values(numbers: xr.DataArray) -> np.ndarray:
    """One number per seed: the mean over all other dimensions."""
    other_dims = [dim for dim in numbers.dims if dim != "seed"]
    return numbers.mean(other_dims).values


def random_walks() -> Numbers:
    """Statistics of `replication/random_walk.py`."""
    p, chosen = "clockwise_probability", lambda data: last(data.selected_lag) == 1
    odds = sweep(
        random_walk, random_walk.CIRCLE6, vary={p: [0.1, 0.3, 0.7, 0.9]}, seeds=8, steps=500,
        record=[500],
    )  # fmt: skip
    a = np.log(last(odds.value_ratio)) / np.log(odds[p] / (1 - odds[p]))
    rates = sweep(
        random_walk, random_walk.CIRCLE6.replace(num_sequences=10000), vary={p: [0.5, 0.7]},
        seeds=6, steps=300, record=[50, 70, 100, 140, 200, 300],
    )  # fmt: skip
    slope = lambda name, at: values(exponent(rates[name].where(chosen(rates)).sel({p: at}), "step"))
    return {
        "RW-12": values(a.where(chosen(odds))),
        "RW-15": slope("value_direction_error", 0.5),
        "RW-16": slope("value_direction_error_sqrt", 0.7),
        "RW-17": slope("value_direction_error", 0.7),
        "RW-6": slope("output_gap", 0.5),
        "RW-9": np.array([stuck_walks()]),
    }


def stuck_walks() -> float:
    """On the exact law of p = 0 or 1, N = rK + 1: how far attention, V and accuracy are from
    uniform.
    """
    p, circles = "clockwise_probability", {"num_states": [6, 5, 20], "length": [97, 26, 101]}
    config = random_walk.Config(population=True, clockwise_probability=1.0)
    data = sweep(
        random_walk, config, zip=circles, steps=50, record=1, buckets="pad", dtype="float64",
        vary={p: [0.0, 1.0], "eta": [0.1, 1.0], "loss_function": ["log", "square", "hinge"]},
    ).isel(step=slice(1, None))  # fmt: skip
    gaps = abs(data.accuracy - 1 / data.num_states).max(), data.attention_spread.max()
    runs = [
        jaxtheory.simulate(
            random_walk, config.replace(loss_function=name), jaxtheory.run_key(KEY, 0), 50,
            record=[50], dtype="float64",
        ).params.V
        for name in ("log", "square", "hinge")
    ]  # fmt: skip
    return float(max(*gaps, *(np.ptp(V) / abs(V).max() for V in map(np.asarray, runs))))


def nearest_neighbors() -> Numbers:
    """Statistics of `replication/nearest_neighbor.py`."""
    config = nearest_neighbor.Config()
    logit = last(
        sweep(
            nearest_neighbor, config.replace(num_prompts=2000), algorithm="literal", seeds=12,
            steps=300, record=[300],
        )
    )  # fmt: skip
    late = [500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000]
    settings = {"d": [4, 3], "N": [4, 8], "sigma": [5.0, 5.0], "eta": [1.0, 10.0]}
    data = sweep(nearest_neighbor, config, zip=settings, seeds=10, steps=2000, record=late)
    slope = lambda curve: values(exponent(curve, "step"))
    return {
        "NN-34": values(abs(logit.query_logit + logit.xi2)),
        "NN-35": values(abs(logit.query_logit - logit.xi1 + logit.xi2)),
        "NN-3": slope(data.xi1),
        "NN-8": slope(1 - data.nearest_attention),
        "NN-9": slope(data.xi1 / data.xi2),
    }


def contextual_bigrams() -> Numbers:
    """Statistics of `replication/contextual_bigram.py`."""
    data = sweep(
        contextual_bigram, contextual_bigram.Config(), zip={"l1": [1e-5, 0.0]}, seeds=16,
        steps=1000, record=[0, 600, 1000],
    )  # fmt: skip
    sure = data.predicted_right_sign_sign_law.isel(step=0, drop=True) >= 0.97725  # Phi(2)
    data = data.where((last(data.right_sign) > 0) & sure)
    runs = prox, sgd = [last(data.isel(l1=place, drop=True)) for place in (0, 1)]
    early = [data.isel(l1=place, drop=True).sel(step=600, drop=True) for place in (0, 1)]
    ratio = lambda name, pair: values(pair[0][name] / pair[1][name])
    alphas = [(run.attention_alignment, run.value_alignment) for run in runs]
    margin = np.minimum(1 - alphas[0][0], alphas[0][1] - 1)
    gaps = [
        prox[name] - sgd[name] for name in ("rounded_attention_distance", "rounded_value_distance")
    ]
    return {
        "CB-3 A": ratio("attention_distance", early),
        "CB-3 V": ratio("value_distance", early),
        "excess": ratio("excess_loss", runs),
        "CB-5": ratio("attention_residual", runs[::-1]),
        "CB-11": values(margin),
        "CB-11 product": values(abs(1 - alphas[0][0] * alphas[0][1]) / margin),
        "SGD": values(np.minimum(alphas[1][0] - 1, 1 - alphas[1][1])),
        "CB-15": values(sum(xr.where(gap.notnull(), gap < 0, np.nan) for gap in gaps) / 2),
        "CB-15 A": values(gaps[0]),
        "CB-15 V": values(gaps[1]),
    }


def low_ranks() -> Numbers:
    """Statistics of `replication/low_rank.py`."""
    named = {name: getattr(low_rank, name.upper()) for name in ("S1", "S1p", "P1", "P1p")}
    fields = ("output", "learning_rate", "init_diagonal")
    settings = {
        "setting": list(named),
        **{field: [getattr(config, field) for config in named.values()] for field in fields},
        "steps": [120, 120, 160, 160],
    }
    theory = low_rank.THEORY._replace(
        analyses=lambda params, problem, config: {
            name: value
            for name, value in truncation(params, problem, config).items()
            if name in ("truncated_loss", "truncated_error")
        }
    )
    data = sweep(
        theory, low_rank.S1, zip=settings, seeds=10, steps=160, record=[0, 1, 20, 30, 120, 160],
        dtype="float64",
    )  # fmt: skip
    S, P = ["S1", "S1p"], ["P1", "P1p"]
    s = data.singular_values.sel(matrix="WK")
    gap = s.sel(index=2, drop=True) / s.sel(index=3, drop=True)
    rise = lambda name: data[name] - data[name].sel(kept_rank=20, drop=True)
    cost = rise("truncated_loss")
    end = lambda name: data[name].sel(step=data.steps, drop=True)
    return {
        "LR-2": values(cost.sel(kept_rank=1)),
        "LR-1": values(abs(cost.sel(kept_rank=[2, 3, 5, 10])).max("kept_rank")),
        "LR-3": values(rise("truncated_error").sel(kept_rank=1)),
        "LR-11": values(np.log10(gap.sel(step=[20, 30]).min("step"))),
        "LR-13": values(gap.sel(setting=P, step=1)),
        "LR-14": values(gap.sel(setting=S, step=1)),
        "LR-7": values(end("relevant_attention").sel(setting=P))
        - values(end("relevant_attention").sel(setting=S)),
        "LR-17": values(end("small_ratio").sel(setting=S)),
        "LR-18": values(end("small_changes").sel(setting=S)),
        "P small": values(end("small_changes").sel(setting=P)),
    }


def attention_prunings() -> Numbers:
    """Statistics of `replication/attention_pruning.py`."""
    arguments = {"seeds": 16, "steps": 400, "record": [400]}
    data = sweep(
        attention_pruning,
        attention_pruning.P2,
        vary={"lambda": [10**0.5, 10.0, 10**1.5, 100.0]},
        **arguments,
    )
    # the baselines do not depend on training
    longer = attention_pruning.P2.replace(length=256)
    long = last(
        sweep(attention_pruning, longer, **arguments | {"steps": 1, "record": [1]}).relative_error
    )
    errors = last(data.relative_error)
    best = errors.sel(pruner="gradient", drop=True).min("regularization")
    baselines = errors.isel(regularization=0, drop=True).sel(pruner=["wanda", "sparsegpt"])
    less = lambda errors: errors.sel(pruner="wanda") - errors.sel(pruner="sparsegpt")
    return {
        "AP-13": values(less(baselines)),
        "AP-13 L": values(less(long)),
        "AP-6 mask": values(best),
        "AP-6": values(best / baselines.min("pruner")),
    }


def sparse_groups() -> Numbers:
    """Statistics of `replication/group_sparse.py`."""
    groups, late = [4, 6, 8, 12], [1000, 1400, 2000, 2800, 4000]
    config = group_sparse.Config(learning_rate=0.25, group_dim=4)
    run = functools.partial(sweep, group_sparse, buckets="exact")
    form = {"algorithm": "population", "seeds": 8}
    data = run(
        config.replace(num_samples=2000), zip={"D": groups, "steps": [4000, 500, 500, 500]},
        steps=4000, record=[500, *late], **form,
    )  # fmt: skip
    losses = data.test_loss.sel(step=500, drop=True)
    long = data.isel(num_groups=0, drop=True).sel(step=late)
    counts = last(
        run(config.replace(num_groups=4), vary={"n": [250, 1000, 4000]}, steps=64, seeds=32,
            record=[64], algorithm="gd", dtype="float64")
    )  # fmt: skip
    angle = np.sqrt(2 * (1 - counts.value_cosine.clip(max=1)))
    shown = [20, 40, 60, 100]
    downstream = run(
        group_sparse.LARGE.replace(pretraining_steps=200, downstream_samples=100),
        vary={"attention": ["frozen", "scratch"]}, algorithm="downstream", seeds=32, steps=300,
        record=[200 + m for m in shown],
    ).accuracy  # fmt: skip
    gain = downstream.sel(attention="frozen") - downstream.sel(attention="scratch")
    ratio = long.value_norm / long.predicted_value_norm_rate
    return {
        "GS-19/20": values(exponent(losses.drop_vars("steps", errors="ignore"), "num_groups")),
        "GS-21": values(exponent(long.test_loss, "step")),
        "GS-22": values(ratio),
        "GS-44": values(exponent(angle, "num_samples")),
        "GS-27": values(gain),
    }


def regressions() -> Numbers:
    """Statistics of `replication/in_context_regression.py`."""
    config = in_context_regression.Config(initial_scale=0.01)
    run = functools.partial(
        sweep, in_context_regression, algorithm="population", seeds=10, dtype="float64"
    )
    slow = run(config, steps=40000, record=20).loss
    fast = run(config.replace(form="merged"), steps=2000, record=1).loss
    aligned = config.replace(
        form="merged", start="aligned", spectrum=0.0, initial_scale=0.03, learning_rate=0.05
    )
    law = run(aligned, steps=3000, record=1, seeds=1)
    drawn = sweep(
        in_context_regression, config.replace(form="merged", initial_scale=0.1), algorithm="gd",
        seeds=12, steps=300, record=[300],
    )  # fmt: skip
    spectrum = np.array([0.4, 0.3, 0.2, 0.1])
    gains = spectrum / (1 + (1 + 1 / spectrum) / 31)
    levels = 1 - np.append(0, gains.cumsum())
    paused = np.array([paused_at(losses, levels) for losses in slow.transpose("seed", "step")])
    return {
        "IR-1": paused[:, 0],
        "IR-1 steps": paused[:, 1],
        "IR-1 speed": slowest(slow, levels),
        "IR-2": slowest(fast, levels),
        "IR-3": np.array([float(abs(law.loss - law.predicted_loss_logistic).max())]),
        "prompts": values(last(drawn.test_loss)),
    }


def paused_at(losses: xr.DataArray, levels: np.ndarray) -> tuple[float, float]:
    """log10 of the largest distance of a pause from its level between the first and the last; and
    the mean of log10 of the steps at which the middles before them are passed.
    """
    middles = (levels[1:] + levels[:-1]) / 2
    steps, curve = losses.step.values, losses.values
    at = [min(np.count_nonzero(curve >= middle), len(steps) - 1) for middle in middles]
    gaps = [
        abs(curve[begin + np.argmax(np.diff(curve[begin : end + 1]))] - level)
        for begin, end, level in zip(at[:-1], at[1:], levels[1:-1], strict=True)
    ]
    return np.log10(max(gaps)), np.log10(steps[at[:-1]]).mean()


def slowest(losses: xr.DataArray, levels: np.ndarray) -> np.ndarray:
    """log10 of the slowest over the fastest fall between records within 10 to 90 % of the way to
    the last level.
    """
    start, end = levels[0], levels[-1]
    done = (start - losses) / (start - end)
    fall = -losses.diff("step")
    fall = fall.where((done.shift(step=1).sel(step=fall.step) > 0.1) & (done < 0.9))
    return np.log10(fall.min("step") / fall.max("step")).values


def causal_graphs() -> Numbers:
    """Statistics of `replication/causal_graph.py`."""
    config = causal_graph.Config(num_prompts=1000, switch_step=100)
    run = functools.partial(sweep, causal_graph, seeds=12, dtype="float64")
    staged = run(config, algorithm="two_stage", steps=200, record=[100, 200])
    start, best = (staged[f"predicted_test_loss_{name}"] for name in ("unigram", "bayes"))
    begun = run(config.replace(num_prompts=2000), algorithm="two_stage", steps=1, record=[0])
    slopes = begun.slopes.isel(step=0)
    small = config.replace(
        num_prompts=500, initial_strength=0.1, learning_rate=30.0, second_rate=1.0
    )
    joint = last(run(small, algorithm="joint", steps=1000, record=[1000]))
    return {
        "CG-2": values(staged.parent_attention.sel(step=100)),
        "CG-4": values(last((start - staged.test_loss) / (start - best))),
        "information": values(begun.gradient_information.isel(step=0)),
        "CG-8": values(slopes.isel(lag=2) / slopes.isel(lag=1)),
        "CG-13": values(joint.predicted_test_loss_bigram - joint.test_loss),
    }


def diversities() -> Numbers:
    """Statistics of `replication/task_diversity.py`."""
    d = 16
    config = task_diversity.Config(dimension=d, length=d, num_tasks=d // 2)
    run = functools.partial(sweep, task_diversity, seeds=12, dtype="float64", buckets="exact")
    numbers: Numbers = {}
    for name, count in {"few": 102, "many": 384, "peak": d**2}.items():
        at = last(run(config.replace(num_prompts=count), algorithm="ridge", steps=0))
        if name == "peak":
            numbers[name] = values(np.log10(at.icl_error))
        else:
            law = at.predicted_icl_error_published
            numbers[name] = values(np.log10(at.icl_error / law))
            numbers[f"{name} in law"] = values(np.log10(at.idg_error / at.icl_error))
    early = config.replace(num_prompts=d**2, learning_rate=0.5)
    numbers["stopped"] = values(np.log10(last(run(early, algorithm="gd", steps=200)).icl_error))
    return numbers


def facts() -> Numbers:
    """Statistics of `replication/factual_recall.py`."""
    config = factual_recall.Config(num_noise=1, length=2, num_draws=1)
    run = functools.partial(sweep, factual_recall, seeds=12, dtype="float64", buckets="exact")
    recorded = lambda steps: {"steps": steps, "record": [*range(steps + 1)]}
    small = run(config, vary={ALPHA: [1e-3, 1e-6]}, **recorded(600), **OBSERVED)
    middle = (level(small, "uniform") + level(small, "relation")) / 2
    slope = 0.5 * fall(small, middle).diff(ALPHA) / np.log(1e3)
    law = small.relation_time.isel(step=0, drop=True)
    noisy = run(factual_recall.Config(num_draws=1, init_scale=1e-4), **recorded(1200))
    at = fall(noisy, level(noisy, "relation") / 2).fillna(0).round().astype(int)
    turned = run(config.replace(num_subjects=4, num_relations=16, init_scale=1e-6), **recorded(700))
    lead = turned.subject_mass - turned.relation_mass
    rates = {"algorithm": ["gd", "adam"], "learning_rate": [0.5, 0.01]}
    recalled = crossing(run(config.replace(zipf=1.0), zip=rates, **recorded(2500)).recalled, 0.5)
    rare = exponent(recalled, "subject")
    sizes = {"num_subjects": 32, "num_relations": 8, "num_answers": 4}
    random = config.replace(embedding="random", learning_rate=0.03, **sizes)
    stored = run(random, algorithm="adam", steps=600, record=[600])
    return {
        "half-way": values(slope.isel({ALPHA: 0}) / law.isel({ALPHA: -1})),
        "noise": values(np.log10(noisy.noise_score / noisy.subject_score).sel(step=at)),
        "reversed": values(lead.isel(step=abs(lead).argmax("step"))),
        "descent": rare.isel(algorithm=0).values,
        "Adam": rare.isel(algorithm=1).values,
        "stored": values(last(stored.accuracy)),
    }


def two_minima() -> Numbers:
    """Statistics of `replication/positional_semantic.py`."""
    config = positional_semantic.Config(dimension=64, num_samples=128)
    starts = {"start": ["positional", "semantic"]}
    options = {"algorithm": "momentum", "seeds": 12, "steps": 400, "record": [400]}
    data = sweep(positional_semantic, config, vary=starts, **options)
    end = {word: last(data[word]) for word in ("semantic", "positional", "test_error", "energy")}
    along_p, along_star = (
        {word: values.sel(start=start) for word, values in end.items()} for start in starts["start"]
    )
    return {
        "semantic": values(along_star["semantic"]),
        "positional": values(along_p["positional"]),
        "error": values(np.log10(along_star["test_error"])),
        "energy": values(np.log(along_p["energy"] / along_star["energy"])),
    }


NUMBERS = {
    "random_walk": random_walks,
    "nearest_neighbor": nearest_neighbors,
    "contextual_bigram": contextual_bigrams,
    "low_rank": low_ranks,
    "attention_pruning": attention_prunings,
    "group_sparse": sparse_groups,
    "in_context_regression": regressions,
    "causal_graph": causal_graphs,
    "task_diversity": diversities,
    "factual_recall": facts,
    "positional_semantic": two_minima,
}
