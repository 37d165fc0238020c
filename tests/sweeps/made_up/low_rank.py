"""Made-up results of low_rank."""

import functools

import jax
import numpy as np
import xarray as xr

from jaxtheory.engine.request.request import read_schedule

from . import Case, get, plan

R = 2  # relevant patterns, the first ones


@functools.cache
def entries(name):
    """The inner dimensions of all that a figure's dataset holds, step first for metrics and
    predictions, and their lengths in one run.
    """
    theory, config = get(name).theory, get(name).config

    def run(key):
        problem = theory.problem(key, config)
        params = theory.init(key, problem, config)
        predicted = theory.predict(problem, config, np.zeros(1, np.int32))
        return (
            theory.metrics(params, problem, config),
            predicted,
            theory.analyses(params, problem, config),
        )

    metrics, predicted, analyses = jax.eval_shape(run, jax.random.key(0))
    dims = {n: ("step", *theory.dims.get(n, ())) for n in metrics} | {
        n: theory.dims.get(n, ()) for n in analyses
    }
    dims |= {
        f"predicted_{n.replace(':', '_')}": ("step", *theory.dims.get(n.partition(":")[0], ()))
        for n in predicted
    }
    shapes = {n: (1, *v.shape) for n, v in metrics.items()} | {
        n: v.shape for n, v in analyses.items()
    }
    return dims, {
        dim: n for word, shape in shapes.items() for dim, n in zip(dims[word], shape, strict=True)
    }


def case(name, values, holds, drawn=False):
    """Values as the figure's dataset holds them: NaN at steps that it does not record and beyond a
    run's own.

    A dimension without labels has its places in `at_DIM`.
    """

    def make(blank):
        sweep, (dims, lengths) = get(name).sweep, entries(name)
        blank = blank.assign(
            {
                f"at_{dim}": (dim, np.arange(n))
                for dim, n in lengths.items()
                if dim not in blank.coords
            }
        )
        which = read_schedule(sweep["record"], [sweep["steps"]]).which
        data = blank.drop_vars(list(blank.data_vars))
        for word, value in values(blank).items():
            outer = (*(a.name for a in plan(name).axes), "seed", *dims[word])
            whole = xr.DataArray(np.zeros([blank.sizes[dim] for dim in outer]), dims=outer) + value
            assert whole.dims == outer, word
            if "step" in outer and not word.startswith("predicted_"):
                recorded = blank.step if which is None else sorted(which[word])
                whole = whole.where(
                    blank.step.isin(recorded) & (blank.step <= blank.coords.get("steps", np.inf))
                )
            data[word] = whole
        return data

    return Case(name, make, holds, drawn=drawn)


def by(d, dim, values, other=0.0):
    """A value for some labels of a dimension, another elsewhere."""
    return xr.DataArray(
        [values.get(label, other) for label in d[dim].values.tolist()], {dim: d[dim].values}, [dim]
    )


def at(d, setting, matrix):
    return (d.setting == setting) & (d.projection == matrix)


def at_end(d, end, before):
    return xr.where(d.step == d.steps, end, before)


def spectrum(d, first, second, third):
    """The largest singular value, the second, and all others."""
    return xr.where(d["index"] == 1, first, xr.where(d["index"] == 2, second, third))


def truncations(d, one, two, error, ends, alone):
    """Costs of the ranks 1 and 2, the other way round in G, in attention for P1 only; attention at
    the end; which matrices cost alone.
    """
    cost = by(d, "kept_rank", {1: one, 2: two})
    lost = cost * (d.setting == "P1")
    return {
        "truncated_loss": 0.1
        + xr.where(d.setting == "G", by(d, "kept_rank", {1: 0.5 - one, 2: 0.5 - two}), cost),
        "truncated_error": by(d, "kept_rank", {1: error}) * (d.setting != "G"),
        "alone_truncated_loss": 0.1 + 0.3 * (d.cut.isin(alone) ^ (d.setting == "G")),
        "relevant_attention": at_end(d, by(d, "setting", ends, 0.31), 0.3),
        "truncated_attention": 0.5 - 0.3 * lost,
        "truncated_query_attention": 0.6 - lost,
    }


def keys(d, gap, growth=1.0, **other):
    """W_K with s_2 / s_3 = 40 where there is a gap, else 1.5 or as given by setting, and two first
    values that grow; the others flat.
    """
    second, grown = xr.where(gap, 0.4, 0.01 * by(d, "setting", other, 1.5)), 200 + growth * d.step
    s = spectrum(d, grown, second * grown / 200, 0.01)
    return {"singular_values": xr.where(d.matrix == "WK", s, 1.0)}


def knee(d, **at):
    """Loss .01 up to a share, .5 in most settings, in the mean over seeds, and steep from there."""
    return 0.01 + 4 * (d.rate - by(d, "setting", at, 0.5) - 0.1 * (d.seed % 2) + 0.05).clip(min=0)


def orders(d, **losses):
    """Losses in some orders, none in the others."""
    return xr.concat(
        [losses.get(order, np.nan) * xr.ones_like(d.rate) for order in d.order.values], d.order
    )


def neurons(d, small, large, random, cut, values, ratios, share, changes):
    """Losses in three orders, after truncation and without value dimensions; by setting, the jump
    of the norms and the share of small changes; G's share below.
    """
    return {
        "pruned_loss": orders(d, small=small, large=large, random=random),
        "pruned_truncated_loss": cut,
        "value_pruned_loss": d.value_rate * by(d, "setting", *values),
        "small_ratio": at_end(d, by(d, "setting", ratios, 1.0), 1.5),
        "small_fraction": at_end(d, by(d, "setting", {"G": share}), 0.9),
        "small_changes": at_end(d, by(d, "setting", changes, 0.4), 0.0),
    }


def theorem(d, cross, rows, columns, rest, cosine):
    """Blocks of P with relevant diagonal 1; the cosine of large neurons with their pattern."""
    i, j = d.at_left, d.at_pattern
    relevant = xr.where(i == j, 1.0, cross)
    large = d.at_neuron >= d.sizes["neuron"] / 2
    norms = xr.where(large, 0.5, 0.1)
    return {
        "projections": xr.where(
            j < R, xr.where(i < R, relevant, rows), xr.where(i < R, columns, rest)
        ),
        "neuron_class": d.at_neuron % R,
        "neuron_norms": norms,
        "neuron_projections": cosine * norms * (large & (d.at_pattern == d.at_neuron % R)),
    }


def diagonal(d, power):
    """The diagonal goes as a power of log T."""
    return {"projections": (d.at_left == d.at_pattern) * np.log(d.steps) ** power}


def powers(d, columns, values, rest):
    """Blocks that go as powers of M: relevant rows of irrelevant columns, the relevant and the
    irrelevant diagonal.
    """
    M, i, j = d.num_patterns, d.at_left, d.at_pattern
    diagonal = xr.where(i < R, M**values, M**rest)
    return {"projections": xr.where(i == j, diagonal, xr.where((i < R) & (j >= R), M**columns, 0))}


def widths(d, fixed, falling, large):
    """Norms of every second neuron as powers of m, by start, and those of the others."""
    m, start = d.num_neurons, xr.where(d.cell.str.startswith("ξ = 0.01"), fixed, falling)
    norms = xr.where(
        d.at_neuron % 2 == 0, 0.01 * m.astype(float) ** start, m.astype(float) ** large
    )
    return {"neuron_norms": norms.where(d.at_neuron < m)}


def noiseless(d, row, **third):
    """A row's entries are powers of a sign; s_3 of the first step by matrix, W_V, W_O of S1 and
    W_Q, W_K of P1.
    """
    claimed = xr.where(d.setting == "S1", d.matrix.isin(["WV", "WO"]), d.matrix.isin(["WQ", "WK"]))
    return {
        "projections": xr.where(d.projection == "WK", row ** d.at_pattern.astype(float), 1.0),
        "singular_values": spectrum(
            d, 1.0, 1.0, by(d, "matrix", third).where(claimed & (d.step == 1), 0.01)
        ),
    }


def predicted_ranks(d):
    several = xr.where(d.occurrence == "independent", d.num_relevant_patterns, d.num_classes)
    return xr.where(d.matrix.isin(["WQ", "WK"]), several, d.num_classes)


def ranks(d, found, needed):
    """Singular values .6 of the largest up to a rank, losses that need another rank."""
    return {
        "predicted_gap_rank_law": predicted_ranks(d),
        "singular_values": xr.where(
            d.step > 0, spectrum(d, 1.0, 0.6, 0.6).where(d["index"] <= found, 0.01), 1.0
        ),
        "truncated_loss": xr.where(d["kept_rank"] >= needed, 0.01, 0.5),
    }


def small_set(d, sign, quiet, noisy, dead):
    """Two fifths of the neurons are small without noise; active on the mean of their class are the
    large ones (+) or the small ones (-).
    """
    large, own = d.at_neuron >= 0.4 * d.sizes["neuron"], d.at_class_mean == d.at_neuron % 2
    return {
        "neuron_class": d.at_neuron % 2,
        "neuron_norms": xr.where(large, 1.0, 0.01) + 1e-5 * d.at_neuron,
        "neuron_start": sign * xr.where(large == own, 1.0, -1.0),
        "small_fraction": xr.where(d.step > 0, xr.where(d.noise == 0, quiet, noisy), 0.7),
        "dead_neurons": xr.where(d.step == 0, dead, 0.9),
        "predicted_dead_neurons_angle": xr.where(d.step == 0, 0.41, np.nan),
        "predicted_small_fraction_angle": 0.41,
        "predicted_small_fraction_own_mean": xr.where(d.noise == 0, 0.41, 0.21),
    }


def failures(d, apart, both, two, second, gap):
    """Losses with irrelevant patterns at cosine .9 to relevant ones and sigma = .1, and with two
    relevant ones at .9 and .4; the cost of rank 2, s_2 / s_1 and s_2 / s_3 where the claims look.
    """
    top, lean, mild, loud = d.coherence == 0.9, d.overlap == 0.9, d.noise == 0.1, d.noise == 0.4
    ratio = xr.where(top & mild, second, 0.3)
    closed = (loud & (d.pair == "none")) | (mild & lean)
    s = spectrum(d, 1.0, ratio, ratio / xr.where(closed, gap, 30.0))
    return {
        "loss": xr.where(lean & mild, apart, xr.where(top & loud, both, 0.2)),
        "truncated_loss": 0.2 + by(d, "kept_rank", {1: 0.5, 2: two}),
        "singular_values": xr.where((d.matrix == "WK") & (d.step > 0), s, 1.0),
    }


def batches(d, loss, power):
    """A loss, and s_2 / s_3 of W_K as a power of the noise."""
    third = xr.where(d.step > 0, 0.001 * d.noise**-power, 1.0)
    return {
        "loss": xr.where(d.step > 0, loss, 1.0),
        "singular_values": xr.where(d.matrix == "WK", spectrum(d, 1.0, 0.5, third), 1.0),
    }


def wrong_labels(d, loss, broken, two, share, cost):
    """Losses up to three wrong labels in ten and at four; the cost of rank 2, the share of small
    changes, and what the smallest neurons cost.
    """
    return {
        "loss": xr.where(d.label_noise == 0.4, broken, loss),
        "truncated_loss": 0.1 + by(d, "kept_rank", {1: 0.3, 2: two}),
        "small_changes": share,
        "pruned_loss": orders(d, small=cost * (d.rate > 0.2)),
    }


def narrow(d, error, loss, rest):
    """The error of one query dimension, the loss of one value dimension, and singular values beyond
    the number of relevant patterns.
    """
    return {
        "error": error * (d.query_dim == 1),
        "loss": loss * (d.value_dim == 1),
        "singular_values": xr.where(
            (d.step > 0) & (d["index"] > d.num_relevant_patterns), rest, 1.0
        ),
    }


def gains(d, gain):
    return {"relevant_query_attention": 0.3 + gain * (d.step > 0)}


def starts(d, one, per):
    """What attention gains at xi = .1, by delta, with one vector and with one per position."""
    gain = xr.where(d.output == "shared", by(d, "init_diagonal", one), by(d, "init_diagonal", per))
    return gains(d, gain * (d.output_scale == 0.1))


def falling(d, time, share=0.3):
    """A loss that falls exponentially at a time scale."""
    return {"loss": np.exp(-d.step / time), "predicted_relevant_attention_uniform": share}


def alpha(d):
    return d.num_relevant / (d.num_relevant + d.num_confusion + 18)


def lora(d, first, full):
    """The loss of rank 1, and of full training cut to rank 1."""
    return {
        "loss": xr.where(d.step == d.step[-1], xr.where(d.lora_rank == 1, first, 0.005), 0.5),
        "truncated_loss": 0.005 + (d.algorithm == "sgd") * by(d, "kept_rank", {1: full}),
    }


def drifts(d, **exponents):
    return {"balance_drift": at_end(d, 0.1 * d.learning_rate ** by(d, "law", exponents), 0.5)}


def heads(d, third, one, two, of_two, of_four):
    """s_3 in one matrix, costs of the ranks 1 and 2, and of heads removed from two and from four;
    NaN where a shape has no such matrix.
    """
    place = xr.DataArray(np.arange(d.sizes["matrix"]), dims="matrix")
    s = spectrum(d, 1.0, 0.5, xr.where(place == 1, third, 0.0)).where(
        place <= 3 * d.num_heads * d.num_layers
    )
    two_heads, four_heads = (by(d, "removed_heads", cost, 1.0) for cost in (of_two, of_four))
    cost = xr.where(
        d.num_heads == 4,
        four_heads,
        xr.where((d.num_heads == 2) & (d.num_layers == 1), two_heads, 1.0),
    )
    return {
        "loss": xr.where(d.step == d.step[-1], 0.01, 0.9),
        "singular_values": xr.where(d.step > 0, s, 1.0),
        "truncated_loss": 0.01 + by(d, "kept_rank", {1: one, 2: two}),
        "head_pruned_loss": (0.01 + cost).where(d.removed_heads <= d.num_heads),
    }


def optimized(d, third, ratio, adam_third, adam_ratio):
    """s_3 / s_1 and the gap of the norms, of the descents and of Adam."""
    adam = d.algorithm == "adam"
    return {
        "singular_values": spectrum(d, 1.0, 0.5, xr.where(adam, adam_third, third)),
        "small_ratio": xr.where(adam, adam_ratio, ratio),
        "small_fraction": 0.35,
        "predicted_small_fraction_own_mean": 0.4,
        "loss": 0.01,
    }


CASES = {
    "rank 2 suffices": case(
        "rank_truncation",
        lambda d: truncations(d, 0.5, 0.0, 0.0, {"P1": 0.7}, ["WV", "WO"]),
        "1 2 3 4 5 6 7 8 9",
    ),
    "rank 1 suffices": case(
        "rank_truncation",
        lambda d: truncations(d, 0.0, -0.1, 0.3, {"S1p": 0.5}, ["WK", "WO"]),
        "",
    ),
    "training makes the gap": case(
        "rank_singular_values", lambda d: keys(d, d.step >= 20, S1=8.0, S1p=8.0), "10 11 12 13 14"
    ),
    "a gap that closes": case(
        "rank_singular_values",
        lambda d: keys(d, d.step.isin([20, 30]), S1p=8.0, P1p=8.0),
        "10 11",
    ),
    "no gap": case("rank_singular_values", lambda d: keys(d, False, growth=-1.0), "13"),
    "a small set": case(
        "neurons_pruning",
        lambda d: neurons(
            d,
            knee(d, P1=0.8, P1p=0.8),
            3.5 * d.rate**2,
            d.rate,
            knee(d),
            ({"G": 0.01}, 0.8),
            {"G": 4.0},
            0.39,
            {"P1": 0.8, "P1p": 0.8},
        ),
        "15 16 18 20 21 22 23 25 26 27 28 29 30",
    ),
    "all neurons alike": case(
        "neurons_pruning",
        lambda d: neurons(
            d,
            d.rate,
            0.18 * (d.rate > 0),
            d.rate,
            d.rate,
            ({"P1": 0.1}, 0.8),
            {"S1": 4.0, "S1p": 4.0},
            0.6,
            {"S1": 0.8},
        ),
        "17 19 21 22",
    ),
    "neurons to spare": case(
        "neurons_pruning",
        lambda d: neurons(
            d,
            knee(d, S1=2.0, S1p=2.0, G=2.0),
            0.01,
            0.01,
            0.01,
            ({}, 0.0),
            {"S1": 4.0},
            0.1,
            {"S1p": 0.8},
        ),
        "17 19 20 24 25 30",
    ),
    "projections as measured": case(
        "rank_projections",
        lambda d: theorem(
            d,
            0.01 + 0.5 * (at(d, "P1", "WK") | at(d, "P1p", "WQ") | (d.setting == "S1p")),
            0.01 + 0.5 * at(d, "S1", "WV"),
            by(d, "projection", {"WQ": 0.2, "WK": -0.2}),
            xr.where(d.at_left == d.at_pattern, by(d, "setting", {"G": 0.03}, 0.9), 0.3),
            by(d, "setting", {"G": 0.95, "S1p": 0.95}, 0.3),
        ),
        "31 35 38 40",
    ),
    "projections as in the theorem": case(
        "rank_projections",
        lambda d: theorem(
            d,
            0.01 - 0.05 * at(d, "P1p", "WQ"),
            0.01,
            xr.where(d.projection == "WQ", 2.0, by(d, "setting", {"G": 0.5}, -0.5)),
            0.03,
            0.95,
        ),
        "31 32 33 35 36 37 38 40 41",
    ),
    "projections without structure": case(
        "rank_projections", lambda d: theorem(d, 1.0, 1.0, -1.0, 1.0, 0.3), ""
    ),
    "a diagonal that grows as sqrt(log T)": case("rank_growth", lambda d: diagonal(d, 0.5), "44"),
    "a diagonal of gradient flow": case("rank_growth", lambda d: diagonal(d, 0.0), "88", True),
    "blocks that do not depend on M": case(
        "rank_patterns", lambda d: powers(d, 0.0, 0.0, -1.0), "34 39 54", True
    ),
    "blocks that fall with M": case("rank_patterns", lambda d: powers(d, -1.0, -1.0, -2.0), ""),
    "noise that closes the gap alone": case(
        "rank_batch_noise", lambda d: batches(d, 0.01, -1.5), "91 92", True
    ),
    "noise that breaks learning alone": case(
        "rank_batch_noise", lambda d: batches(d, 0.02 + d.noise / 10, 0.0), ""
    ),
    "wrong labels that do no harm up to .3": case(
        "rank_label_noise",
        lambda d: wrong_labels(d, 0.03, 0.6, 0.0, 0.4, 0.06),
        "93 94 95 96 97",
        True,
    ),
    "wrong labels that do the same harm at any share": case(
        "rank_label_noise", lambda d: wrong_labels(d, 0.17, 0.17, 0.05, 0.6, 0.01), ""
    ),
    "norms as 1 / sqrt(m)": case(
        "neurons_width", lambda d: widths(d, -0.5, -0.5, -0.5), "42 43 90", True
    ),
    "norms that the start decides": case(
        "neurons_width", lambda d: widths(d, 0.0, -1.0, 0.0), "89"
    ),
    "rank 2 in the first step of the values": case(
        "rank_noiseless", lambda d: noiseless(d, -1.0, WQ=0.4, WK=0.4), "45 46 47"
    ),
    "rank 2 in the first step of the scores": case(
        "rank_noiseless", lambda d: noiseless(d, 1.0, WO=0.4), ""
    ),
    "ranks of the law": case(
        "rank_law", lambda d: ranks(d, predicted_ranks(d), d.num_classes), "48 49 50 52"
    ),
    "as many ranks as patterns": case(
        "rank_law",
        lambda d: ranks(d, d.num_relevant_patterns, d.num_relevant_patterns),
        "48 51 53",
    ),
    "rank 1 but for W_K": case(
        "rank_law",
        lambda d: ranks(d, xr.where(d.matrix == "WK", predicted_ranks(d), 1), 1),
        "49 52",
    ),
    "those inactive on their own mean stay small": case(
        "neurons_small_set", lambda d: small_set(d, 1.0, 0.4, 0.2, 0.4), "55 56 57 58 59"
    ),
    "those active on their own mean stay small": case(
        "neurons_small_set", lambda d: small_set(d, -1.0, 0.4, 0.4, 0.1), ""
    ),
    "losses without small neurons fall as 1/M": case(
        "neurons_dictionary",
        lambda d: {
            "pruned_loss": orders(d, small=d.rate / (0.6 * d.num_patterns), large=2 * d.rate)
        },
        "60 61",
    ),
    "only losses without large neurons fall with M": case(
        "neurons_dictionary",
        lambda d: {"pruned_loss": orders(d, small=0.07, large=2 * d.rate / d.num_patterns)},
        "",
    ),
    "coherence and noise together break learning": case(
        "rank_failures", lambda d: failures(d, 0.05, 0.8, 0.0, 0.01, 2.0), "63 64 76 86 87"
    ),
    "coherence alone breaks learning": case(
        "rank_failures", lambda d: failures(d, 0.8, 0.1, 0.3, 0.5, 100.0), "62"
    ),
    "one dimension is enough": case("rank_capacity", lambda d: narrow(d, 0.0, 0.0, 0.01), "66 67"),
    "one dimension is too few": case("rank_capacity", lambda d: narrow(d, 0.3, 0.6, 0.5), "65"),
    "attention learns per position": case(
        "attention_start", lambda d: starts(d, {0.2: 0.15}, {0.1: 0.45, 0.2: 0.6}), "68 69 70"
    ),
    "attention learns from any start": case("attention_start", lambda d: gains(d, 0.5), ""),
    "more positions, more attention": case(
        "attention_queries", lambda d: gains(d, by(d, "num_queries", {1: 0.02}, 0.5)), "71 72"
    ),
    "one position is enough": case("attention_queries", lambda d: gains(d, 0.4), ""),
    "times as 1 / eta": case("times_rate", lambda d: falling(d, 10 / d.learning_rate), "74", True),
    "times as printed": case("times_rate", lambda d: falling(d, 25 / d.learning_rate**0.6), "73"),
    "times that ignore eta": case("times_rate", lambda d: falling(d, 50.0), ""),
    "times as 1 / alpha*": case(
        "times_share", lambda d: falling(d, 4 / alpha(d) ** 1.1, alpha(d)), "75"
    ),
    "times that ignore alpha*": case("times_share", lambda d: falling(d, 20.0, alpha(d)), ""),
    "LoRA of rank 1 learns": case("lora_ranks", lambda d: lora(d, 0.005, 0.5), "77 78"),
    "LoRA of rank 1 fails": case("lora_ranks", lambda d: lora(d, 0.5, 0.05), ""),
    "drifts as eta in the values": case(
        "balance_drift", lambda d: drifts(d, VO=1.0, QK=2.0), "79", True
    ),
    "drifts as eta in the scores": case("balance_drift", lambda d: drifts(d, VO=0.0, QK=1.0), "80"),
    "every head of rank 2": case(
        "rank_heads_layers",
        lambda d: heads(d, 0.01, 0.4, 0.0, {1: 0.5}, {1: 0.01, 2: 0.5}),
        "81 82 83 84 85",
    ),
    "heads of full rank that can go": case(
        "rank_heads_layers", lambda d: heads(d, 0.5, 0.0, 0.2, {1: 0.0}, {1: 0.0, 2: 0.0}), ""
    ),
    "optimizers as measured": case(
        "rank_optimizers", lambda d: optimized(d, 0.01, 4.0, 0.1, 1.5), "98 100 101", True
    ),
    "Adam of rank 2, the others not": case(
        "rank_optimizers", lambda d: optimized(d, 0.1, 1.5, 0.01, 4.0), "99 100 102"
    ),
    "Adam of full rank": case(
        "rank_optimizers", lambda d: optimized(d, 0.01, 4.0, 0.4, 1.5), "98 101"
    ),
}
