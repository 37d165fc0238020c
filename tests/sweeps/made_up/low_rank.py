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
            array = xr.DataArray(np.zeros([blank.sizes[dim] for dim in outer]), dims=outer) + value
            assert array.dims == outer, word
            if "step" in outer and not word.startswith("predicted_"):
                recorded = blank.step if which is None else sorted(which[word])
                array = array.where(
                    blank.step.isin(recorded) & (blank.step <= blank.coords.get("steps", np.inf))
                )
            data[word] = array
        return data

    return Case(name, make, holds, drawn=drawn)


def by(d, dim, values, default=0.0):
    """A value for some labels of a dimension, another elsewhere."""
    return xr.DataArray(
        [values.get(label, default) for label in d[dim].values.tolist()],
        {dim: d[dim].values},
        [dim],
    )


def at(d, setting, matrix):
    return (d.setting == setting) & (d.projection == matrix)


def at_end(d, end, before):
    return xr.where(d.step == d.steps, end, before)


def spectrum(d, first, second, third):
    """The largest singular value, the second, and all others."""
    return xr.where(d["index"] == 1, first, xr.where(d["index"] == 2, second, third))


def truncations(d, one, two, error, ends, lost, loss):
    """Costs of the ranks 1 and 2; by setting, attention at the end and what rank 1 loses of it."""
    first = by(d, "kept_rank", {1: 1.0}) * by(d, "setting", *lost)
    return {
        "truncated_loss": 0.1 + by(d, "kept_rank", {1: one, 2: two}),
        "truncated_error": by(d, "kept_rank", {1: error}),
        "relevant_attention": at_end(d, by(d, "setting", ends, 0.31), 0.3),
        "truncated_attention": 0.5 - first,
        "truncated_query_attention": 0.6 - first,
        "loss": at_end(d, loss, 1.0),
    }


def keys(d, gap, growth=1.0, tail=1.0, **ratios):
    """W_K with s_2 / s_3 = 40 where there is a gap, else 1.5 or as given by setting, and two first
    values that grow; the others flat, those beyond the tenth with a tail of their own.
    """
    second, grown = xr.where(gap, 0.4, 0.01 * by(d, "setting", ratios, 1.5)), 200 + growth * d.step
    bulk = 0.01 * xr.where(d["index"] > 10, tail**d.step, 1.0)
    s = spectrum(d, grown, second * grown / 200, bulk)
    return {"singular_values": xr.where(d.matrix == "WK", s, 1.0)}


def knee(d, **at):
    """Loss .01 up to a share, .5 in most settings, or .2 less in the first seed, and steep from
    there.
    """
    return 0.01 + 4 * (d.rate - by(d, "setting", at, 0.5) + 0.2 * (d.seed == 0)).clip(min=0)


def orders(d, **losses):
    """Losses in some orders, none in the others."""
    return xr.concat(
        [losses.get(order, np.nan) * xr.ones_like(d.rate) for order in d.order.values], d.order
    )


def neurons(d, small, large, random, ratios, changes):
    """Losses in three orders; by setting, the jump of the norms and the share of small changes."""
    return {
        "pruned_loss": orders(d, small=small, large=large, random=random),
        "small_ratio": at_end(d, by(d, "setting", *ratios), 1.5),
        "small_changes": at_end(d, by(d, "setting", changes, 0.4), 0.0),
    }


def theorem(d, cross, columns, cosine):
    """Blocks of P with relevant diagonal 1; the cosine of large neurons with their pattern."""
    i, j = d.at_left, d.at_pattern
    large = d.at_neuron >= d.sizes["neuron"] / 2
    norms = xr.where(large, 0.5, 0.1)
    projections = cosine * norms * (large & (d.at_pattern == d.at_neuron % R))
    return {
        "projections": xr.where(
            j < R, xr.where((i == j) & (i < R), 1.0, cross), xr.where(i < R, columns, 0.1)
        ),
        "neuron_class": d.at_neuron % R,
        "neuron_norms": norms,
        "neuron_changes": 2 * norms,
        "neuron_projections": projections,
        "neuron_change_projections": 2 * projections,
    }


def diagonal(d, power, off_diagonal):
    """The diagonal goes as a power of log T, all off it as a power of T."""
    T = d.steps.astype(float)
    return {
        "projections": xr.where(
            d.at_left == d.at_pattern, np.log(T) ** power, 0.1 * T**off_diagonal
        )
    }


def powers(d, values, irrelevant, relevant, background):
    """Blocks that go as powers of M: the relevant and the irrelevant diagonal, and beside them. In
    relevant rows of irrelevant columns, the power of W_V is that of relevant columns.
    """
    M, i, j = d.num_patterns.astype(float), d.at_left, d.at_pattern
    diagonal = xr.where(i < R, M**values, M**irrelevant)
    columns = M ** xr.where(d.projection == "WV", relevant, -1 - relevant)
    off_diagonal = xr.where(j < R, M**relevant, xr.where(i < R, columns, M**background))
    return {"projections": xr.where(i == j, diagonal, off_diagonal)}


def widths(d, fixed, falling, large, share):
    """Norms of small neurons as powers of m, by start, and those of the others, and the exponent of
    m in the share of large neurons.
    """
    m, start = d.num_neurons.astype(float), d.cell.str.startswith("ξ = 0.01")
    small = 0.01 * m ** xr.where(start, fixed, falling)
    small_share = 1 - 0.5 * (m / 50) ** share
    i = d.at_neuron
    is_small = np.floor((i + 1) * small_share + 1e-9) > np.floor(i * small_share + 1e-9)
    norms = xr.where(is_small, small, 10 * m**large).where(i < m)
    own = d.at_pattern == d.at_neuron % 2
    return {
        "neuron_norms": norms,
        "neuron_changes": norms / 2,
        "neuron_class": d.at_neuron % 2,
        "neuron_projections": norms * xr.where(own, 0.9, 0.1),
        "neuron_change_projections": norms * xr.where(own, -0.4, 0.05),
        "small_fraction": is_small.where(i < m).mean("neuron"),
    }


def predicted_ranks(d):
    query_rank = xr.where(d.occurrence == "independent", d.num_relevant_patterns, d.num_classes)
    return xr.where(d.matrix.isin(["WQ", "WK"]), query_rank, d.num_classes)


def ranks(d, rank, needed):
    """Singular values .6 of the largest up to a rank, losses that need another rank."""
    return {
        "predicted_gap_rank_law": predicted_ranks(d),
        "singular_values": xr.where(
            d.step > 0, spectrum(d, 1.0, 0.6, 0.6).where(d["index"] <= rank, 0.01), 1.0
        ),
        "truncated_loss": xr.where(d["kept_rank"] >= needed, 0.01, 0.5),
    }


def small_set(d, quiet, noisy):
    """The share of small neurons without and with noise, against 0.41 and 0.21."""
    return {
        "small_fraction": xr.where(d.step > 0, xr.where(d.noise == 0, quiet, noisy), 0.7),
        "predicted_small_fraction_own_mean": xr.where(d.noise == 0, 0.41, 0.21),
    }


def failures(d, loss):
    """Losses with irrelevant patterns at cosine 0.9 to relevant ones and sigma = 0.1."""
    return {"loss": xr.where((d.overlap == 0.9) & (d.noise == 0.1), loss, 0.2)}


def batches(d, loss, power):
    """A loss, and s_2 / s_3 of W_K as a power of the noise."""
    third = xr.where(d.step > 0, 0.001 * d.noise**-power, 1.0)
    return {
        "loss": xr.where(d.step > 0, loss, 1.0),
        "singular_values": xr.where(d.matrix == "WK", spectrum(d, 1.0, 0.5, third), 1.0),
    }


def wrong_labels(d, power):
    """A loss whose time goes as a power of 1 - 2q."""
    return {
        "loss": np.exp(-d.step / (15 * (1 - 2 * d.label_noise) ** power)),
        "truncated_loss": 0.1 + by(d, "kept_rank", {1: 0.3}),
        "small_changes": 0.4,
    }


def unit_tokens(d, third, one, two, small):
    """s_3 of W_K over s_1 = 2 s_2, the costs of the ranks 1 and 2, the share of small changes."""
    return {
        "singular_values": xr.where(d.matrix == "WK", spectrum(d, 1.0, 0.5, third), 1.0),
        "truncated_loss": 0.1 + by(d, "kept_rank", {1: one, 2: two}),
        "small_changes": small,
    }


def narrow(d, tail):
    """Singular values beyond the number of relevant patterns."""
    beyond = (d.step > 0) & (d["index"] > d.num_relevant_patterns)
    return {"singular_values": xr.where(beyond, tail, 1.0)}


def starts(d, shared, per_token):
    """Powers of delta in the irrelevant diagonal, with one vector and with one per position."""
    power = xr.where(d.output == "shared", shared, per_token)
    return {
        "relevant_query_attention": 0.3 + 0.1 * (d.step > 0),
        "projections": (d.at_left == d.at_pattern) * d.init_diagonal**power,
        "loss": 0.01,
    }


def falling(d, time, share=0.3):
    """A loss that falls exponentially at a time scale."""
    return {"loss": np.exp(-d.step / time), "predicted_relevant_attention_uniform": share}


def alpha(d):
    return d.num_relevant / (d.num_relevant + d.num_confusion + 18)


def lora(d, first):
    """The loss of rank 1."""
    return {"loss": xr.where(d.step == d.step[-1], xr.where(d.lora_rank == 1, first, 0.005), 0.5)}


def heads(d, third):
    """s_3 in one matrix; NaN where a shape has no such matrix."""
    place = xr.DataArray(np.arange(d.sizes["matrix"]), dims="matrix")
    s = spectrum(d, 1.0, 0.5, xr.where(place == 1, third, 0.0))
    s = s.where(place <= 3 * d.num_heads * d.num_layers)
    return {"singular_values": xr.where(d.step > 0, s, 1.0)}


CASES = {
    "rank 2 suffices, and attention learns per position": case(
        "rank_truncation",
        lambda d: truncations(
            d, 0.5, 0.0, 0.0, {"P1": 0.7, "P1p": 0.4}, ({"P1": 0.02, "P1p": 0.02}, 0.0), 0.001
        ),
        "1 2 3 7 104",
    ),
    "rank 1 loses attention alone": case(
        "rank_truncation",
        lambda d: truncations(d, 0.0, 0.1, 0.3, {}, ({}, 0.02), 0.1),
        "6",
    ),
    "training makes the gap": case(
        "rank_singular_values",
        lambda d: keys(d, d.step >= 20, tail=0.99, S1=8.0, S1p=8.0, G=8.0),
        "11 14 105",
    ),
    "a gap that closes in one run": case(
        "rank_singular_values",
        lambda d: keys(d, d.step.isin([20, 30]) | ((d.step > 30) & (d.seed > 0))),
        "10 13 105",
    ),
    "no gap": case("rank_singular_values", lambda d: keys(d, False, growth=-1.0), "13"),
    "a small set": case(
        "neurons_pruning",
        lambda d: neurons(
            d,
            knee(d, P1=0.8, P1p=0.8),
            xr.where(d.rate < 0.25, 20 * d.rate**3, 1.2 * d.rate),
            d.rate,
            ({"G": 4.0}, 1.0),
            {"P1": 0.8, "P1p": 0.8},
        ),
        "18 20 106",
    ),
    "all neurons alike": case(
        "neurons_pruning",
        lambda d: neurons(d, d.rate, 0.6 * d.rate, d.rate, ({}, 4.0), {"S1": 0.8}),
        "17 21 26",
    ),
    "projections as measured": case(
        "rank_projections",
        lambda d: theorem(
            d,
            0.01 + 0.5 * (at(d, "P1", "WK") | at(d, "S1", "WV")),
            by(d, "projection", {"WQ": 0.2, "WK": -0.2}),
            by(d, "setting", {"G": 0.95, "S1p": 0.95}, 0.3),
        ),
        "31",
    ),
    "projections as in the theorem": case(
        "rank_projections", lambda d: theorem(d, 0.01, 2.0, 0.95), "31 36 41"
    ),
    "projections without structure": case(
        "rank_projections", lambda d: theorem(d, 1.0, -1.0, 0.3), ""
    ),
    "a diagonal that grows as sqrt(log T)": case(
        "rank_growth", lambda d: diagonal(d, 0.5, -1.0), "44 109"
    ),
    "a diagonal of gradient flow": case("rank_growth", lambda d: diagonal(d, 0.0, 0.0), "", True),
    "blocks of the orders of the theorem": case(
        "rank_patterns",
        lambda d: powers(d, 0.0, -1.0, -1.0, -1.0),
        "33 37 39 54 107 108 120 121",
        True,
    ),
    "blocks of other orders": case("rank_patterns", lambda d: powers(d, -1.0, -2.0, 0.0, 0.0), ""),
    "columns that fall as 1/M beside a diagonal that does not": case(
        "rank_patterns", lambda d: powers(d, 0.0, -2.0, 0.0, 0.0), "54 126"
    ),
    "noise that closes the gap alone": case(
        "rank_batch_noise", lambda d: batches(d, 0.01, -1.5), "92", True
    ),
    "noise that breaks learning alone": case(
        "rank_batch_noise", lambda d: batches(d, 0.02 + d.noise / 10, 0.0), ""
    ),
    "wrong labels that cost time": case(
        "rank_label_noise", lambda d: wrong_labels(d, -1.0), "110", True
    ),
    "wrong labels that cost the same at any share": case(
        "rank_label_noise", lambda d: wrong_labels(d, 0.0), ""
    ),
    "unit tokens change nothing": case(
        "rank_data_model", lambda d: unit_tokens(d, 0.001, 0.3, 0.0, 0.4), "111 117 118 119", True
    ),
    "unit tokens blur the rank": case(
        "rank_data_model", lambda d: unit_tokens(d, 0.1, 0.1, 0.05, 0.2), ""
    ),
    "norms as 1 / sqrt(m)": case(
        "neurons_width",
        lambda d: widths(d, -0.5, -0.5, -0.5, 0.0),
        "42 90 115 116 122 123 124",
        True,
    ),
    "norms that the start decides": case(
        "neurons_width", lambda d: widths(d, 0.0, -0.5, -1.0, -0.5), "42 43 125"
    ),
    "norms that fall as 1 / m": case(
        "neurons_width", lambda d: widths(d, 0.0, -1.0, 0.0, 0.0), "90 116 122 123"
    ),
    "ranks of the law": case(
        "rank_law", lambda d: ranks(d, predicted_ranks(d), d.num_classes), "48 50 52"
    ),
    "as many ranks as patterns": case(
        "rank_law", lambda d: ranks(d, d.num_relevant_patterns, d.num_relevant_patterns), "51"
    ),
    "rank 1 but for W_K": case(
        "rank_law", lambda d: ranks(d, xr.where(d.matrix == "WK", predicted_ranks(d), 1), 1), "52"
    ),
    "small neurons of the law": case("neurons_small_set", lambda d: small_set(d, 0.4, 0.2), "57"),
    "as many small neurons at any noise": case(
        "neurons_small_set", lambda d: small_set(d, 0.4, 0.4), ""
    ),
    "losses without small neurons fall as 1/M": case(
        "neurons_dictionary",
        lambda d: {"pruned_loss": orders(d, small=d.rate / (0.6 * d.num_patterns))},
        "60",
    ),
    "losses without small neurons that ignore M": case(
        "neurons_dictionary", lambda d: {"pruned_loss": orders(d, small=0.07)}, ""
    ),
    "coherence does not break learning": case("rank_failures", lambda d: failures(d, 0.05), ""),
    "coherence breaks learning": case("rank_failures", lambda d: failures(d, 0.8), "62"),
    "one dimension is enough": case("rank_capacity", lambda d: narrow(d, 0.01), ""),
    "one dimension is too few": case("rank_capacity", lambda d: narrow(d, 0.5), "65"),
    "a diagonal as delta with one a alone": case(
        "attention_start", lambda d: starts(d, 1.0, 0.1), "114", True
    ),
    "a diagonal as delta squared": case("attention_start", lambda d: starts(d, 2.0, 2.0), "113"),
    "times as 1 / eta": case("times_rate", lambda d: falling(d, 10 / d.learning_rate), "74", True),
    "times as printed": case("times_rate", lambda d: falling(d, 25 / d.learning_rate**0.6), "73"),
    "times that ignore eta": case("times_rate", lambda d: falling(d, 50.0), ""),
    "times as 1 / alpha*": case(
        "times_share", lambda d: falling(d, 4 / alpha(d) ** 1.1, alpha(d)), "75"
    ),
    "times that ignore alpha*": case("times_share", lambda d: falling(d, 20.0, alpha(d)), ""),
    "LoRA of rank 1 learns": case("lora_ranks", lambda d: lora(d, 0.005), "77"),
    "LoRA of rank 1 fails": case("lora_ranks", lambda d: lora(d, 0.5), ""),
    "every head of rank 2": case("rank_heads_layers", lambda d: heads(d, 0.01), "81"),
    "heads of full rank": case("rank_heads_layers", lambda d: heads(d, 0.5), ""),
}
