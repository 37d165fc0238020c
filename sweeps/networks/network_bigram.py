"""Does some head of a Transformer attend to the positions that a contextual bigram depends on?

Is it found in two stages?
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import xarray as xr
from jax.scipy.special import entr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, at_most, derived

from . import THEOREM, Ladder, Trained, panels, parts, rungs_from

ALPHA = "concentration"
ADAM = rungs_from("AdamW")
EVERY = 8  # steps between two records
LEAST = 0.05  # a smaller fall of the excess loss, or rise of attention, has no stages


def unigram_loss(_params: Any, problem: Any, _config: Any) -> Any:
    """The loss of the stationary law of the tokens, for any context."""
    return jnp.sum(entr(problem.law.stationary))


def reached(values: xr.DataArray, level: Any) -> xr.DataArray:
    """The first recorded step at which values are at most this level; NaN if there is none."""
    below = values <= level
    return values.step[below.argmax("step")].drop_vars("step").where(below.any("step"))


def stage_one(excess: xr.DataArray) -> xr.DataArray:
    """The steps until an excess loss has made a tenth of its fall, over those until half of it.

    It is 0.15 for an exponential. The fall and the steps begin where the excess loss is 1. NaN
    where it hardly falls.
    """
    fall = 1 - excess.isel(step=-1)
    tenth, half = (reached(excess, 1 - share * fall) for share in (0.1, 0.5))
    begun = reached(excess, 1)
    return (tenth - begun) / (half - begun).where((fall > LEAST) & (half > begun))


def stages(trained: Trained) -> Mapping[str, xr.DataArray]:
    """`stage_one` of the excess loss over that of the stationary law, and attention at this law.

    The latter is the share of its way that attention has gone when the loss is that of this law for
    the first time.
    """
    data = trained.data
    best = data.predicted_loss.isel(step=0)
    excess = (data.loss - best) / (data.unigram_loss.isel(step=0) - best)
    attention = data.attended_attention
    begun = attention.isel(step=0)
    rise = attention.isel(step=-1) - begun
    way = (attention - begun) / rise.where(rise > LEAST)
    at = reached(excess, 1)
    return {
        "stage_one": stage_one(excess),
        "attention_at_unigram": way.sel(step=at.fillna(0)).drop_vars("step").where(at.notnull()),
    }


ONE_LAYER = rungs_from("AdamW", "+ 4 heads")
BIGRAMS = Ladder(
    name="contextual_bigram",
    data={"num_states": 3, "length": 24, "sparsity": 1, "batch_size": 128},
    axis=ALPHA,
    theorem={"settings": {}, "steps": 1000, "record": EVERY},
    read=lambda data: {
        "support_match": data.support_recovery,
        "stage_one": stage_one(data.relative_excess_loss),
    },
    names=("attended_attention", "support_match", "stage_one", "attention_at_unigram"),
    sgd=0.5,
    more=lambda steps: {
        "record": {
            **dict.fromkeys(("loss", "attended_attention"), EVERY),
            **{name: [steps] for name in ("accuracy", "support_match")},
            "unigram_loss": [0],
        },
        "observe": {"unigram_loss": unigram_loss},
    },
    also=stages,
)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Accuracy, attention to the attended set, the share of right sets and the stages, by rung."""
    shown = {
        "accuracy": "accuracy",
        "attended_attention": "attention to the attended positions, best head",
        "support_match": "share of tokens with the right set",
        "stage_one": "steps until 0.1 of the fall of the loss, over those until half of it",
        "attention_at_unigram": "share of its way that attention has gone at the unigram loss",
    }
    return panels(data, BIGRAMS, shown, "Contextual bigrams, from the theorem to a Transformer")


FIGURE = Figure(
    name="network_bigram",
    source="contextual_bigram: recovery of the attended positions",
    finding=Finding(
        "On contextual bigrams the theorem's model has a loss plateau and finds ≥ 0.9 of the attended positions",
        rests_on=("NW-41", "NW-45"),
    ),
    **parts(BIGRAMS, values=[0.3, 1.0], quick_values=[0.3, 1.0]),
    draw=draw,
    # key 100, 4 seeds: the theorem's model finds all positions; networks of one layer those of 0.77
    # of the tokens at 0.3, and at 1.0 they give them 0.17 to 0.35 of the attention.
    # Keys 100 and 101, 8 seeds: stage one 0.71 and 0.73 in the theorem's model, 0.34 to 0.68 from
    # AdamW on at 0.3 (0.57 and 0.46 on average), where attention has gone 0.26 of its way at most,
    # 0.02 and 0.13 on average
    claims=(
        Claim(
            "NW-41",
            origin=derived("the theorem, on batches of 128"),
            statement="The theorem's model finds the attended position of at least 0.9 of the tokens after 1000 steps, at both concentrations.",
            measure=Measure(
                "share of right positions, theorem's model, each concentration",
                lambda data: data.support_match.sel(rung=THEOREM),
            ),
            bound=at_least(0.9),
            panel=2,
            why="It is the recovery that the other rungs are compared with.",
        ),
        Claim(
            "NW-42",
            origin=derived("measured"),
            statement="Where transitions tell much (concentration 0.3), one layer trained with AdamW for 200 steps attends most to the right position for at least half of the tokens, on average over the rungs up to four heads.",
            measure=Measure(
                "share of right positions, concentration 0.3, mean of one-layer rungs",
                lambda data: data.support_match.sel({"rung": ONE_LAYER, ALPHA: 0.3}).mean(
                    skipna=False
                ),
            ),
            bound=at_least(0.5),
            panel=2,
            why="A standard network finds the sparse set by itself, without a threshold or a proximal step.",
        ),
        Claim(
            "NW-43",
            origin=derived("measured"),
            statement="Where transitions tell less (concentration 1), one layer trained with AdamW gives the right position at most half of the attention after 200 steps, on average over the rungs up to four heads.",
            measure=Measure(
                "attention to right position, concentration 1, mean of one-layer rungs",
                lambda data: data.attended_attention.sel({"rung": ONE_LAYER, ALPHA: 1.0}).mean(
                    skipna=False
                ),
            ),
            bound=at_most(0.5),
            panel=1,
            why="Sinusoidal positions of 16 numbers tell 24 places apart only slowly, which the theory's one weight per place need not.",
        ),
        Claim(
            "NW-44",
            origin=derived("measured"),
            statement="With learned positions some head gives the right position at least 0.7 of the attention after 200 steps, at both concentrations.",
            measure=Measure(
                "attention to right position, learned positions, each concentration",
                lambda data: data.attended_attention.sel(rung="+ learned positions"),
            ),
            bound=at_least(0.7),
            panel=1,
            why="The rung that repairs the mechanism is the one that gives every place a vector of its own, as the theory does.",
        ),
        Claim(
            "NW-45",
            origin=derived("the two stages of the theory"),
            statement="In the theorem's model the excess loss needs at least 0.5 of the steps in which it falls by half for its first tenth, at both concentrations (an exponential: 0.15).",
            measure=Measure(
                "steps to 0.1 of the loss's fall over steps to half, theorem's model",
                lambda data: data.stage_one.sel(rung=THEOREM),
            ),
            bound=at_least(0.5),
            panel=3,
            why="It is the plateau of the first stage, which the other rungs are compared with.",
        ),
        Claim(
            "NW-46",
            origin=derived("measured"),
            statement="In the networks trained with AdamW at concentration 0.3 the excess loss, once the loss is that of the tokens' stationary law, needs at least 0.2 of the steps in which it falls by half for its first tenth, on average over the rungs on which it falls by more than 5 %.",
            measure=Measure(
                "steps to 0.1 of loss's fall over steps to half, concentration 0.3",
                lambda data: data.stage_one.sel({"rung": ADAM, ALPHA: 0.3}).mean(),
            ),
            bound=at_least(0.2),
            panel=3,
            why="The two stages of the theorem are seen in standard networks, with residual, layer norm, MLP, heads and depth.",
        ),
        Claim(
            "NW-47",
            origin=derived("measured"),
            statement="When the loss of the networks trained with AdamW at concentration 0.3 is that of the tokens' stationary law for the first time, attention has gone at most 0.4 of its way, on average over the rungs on which it rises by more than 0.05.",
            measure=Measure(
                "share of its rise that attention has made at the unigram loss, mean",
                lambda data: data.attention_at_unigram.sel({"rung": ADAM, ALPHA: 0.3}).mean(),
            ),
            bound=at_most(0.4),
            panel=4,
            why="A network learns the frequencies of the tokens first, with which the theory starts, and then where to look.",
        ),
    ),
)
