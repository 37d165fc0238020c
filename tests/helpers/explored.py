"""A made-up sweep with all that an explorer page shows, and one with hostile names."""

import json

import numpy as np
import xarray as xr

RATES, L1, NOISE = [0.1, 0.3, 1.0, 3.0], [0.0, 0.1, 0.2], ["low", "mid", "high"]
PRUNERS = ["magnitude", "wanda", "gradient"]
# what breaks out of HTML, of a script, of an attribute, of a path or of an object in a script
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked = 2'>",
    "__proto__",
    "\u2028\u2029'\\",
    "<b>bold</b> &amp; <a href='javascript:window.hacked=3'>a</a>",
    "<!--<script>",
    "=1+1",
)


def explorer_dataset(seeds: int = 6, steps: int = 21, side: int = 6) -> xr.Dataset:
    """A sweep over two axes, one of them zipped, with divergence, theory, matrices and weights."""
    draw, step = np.random.default_rng(0), np.arange(steps) * 5
    axes, shape = ("learning_rate", "l1", "seed"), (4, 3, seeds)
    rate = np.array(RATES)[:, None, None, None]
    flow = np.exp(-rate * step / 40) + np.array(L1)[None, :, None, None] + 1e-4
    loss = flow * np.exp(0.2 * draw.normal(size=(*shape, 1)))
    diverged = np.full(shape, -1, np.int32)
    diverged[3, :, ::3] = 50
    diverged[3, 0] = 30
    for at in np.argwhere(diverged >= 0):
        loss[tuple(at)][step >= diverged[tuple(at)]] = np.nan
    walk = np.cumsum(draw.normal(size=(*shape, steps, side, side)), 3)
    attention = np.exp(walk) / np.exp(walk).sum(-1, keepdims=True)
    data = xr.Dataset(
        {
            "loss": ((*axes, "step"), loss, {"long_name": "mean squared error"}),
            "predicted_loss_flow": ((*axes, "step"), np.broadcast_to(flow, loss.shape)),
            "params_W": ((*axes, "step", "row", "column"), walk.astype(np.float32)),
            "attention": ((*axes, "step", "query", "key"), attention),
            "error": ((*axes, "pruner"), draw.random((*shape, 3))),
            "diverged_at": (axes, diverged),
        },
        {
            "learning_rate": ("learning_rate", RATES, {"symbol": "eta", "long_name": "step size"}),
            "l1": L1,
            "noise": ("l1", NOISE),
            "seed": np.arange(seeds),
            "step": step,
            "pruner": PRUNERS,
        },
    )
    config = json.dumps({"learning_rate": 0.1, "width": side})
    return data.assign_attrs(theory="made_up", key=7, config=config, algorithm="sgd", steps=100)


def hostile() -> xr.Dataset:
    """A sweep whose names, labels, attributes and texts are hostile."""
    script, image, proto, signs, tags, comment, formula = HOSTILE
    values = np.random.default_rng(0).random((2, 3, 4))
    dims = (proto, image, "seed")
    attributes = {"long_name": script + tags, "symbol": image, "units": comment}
    return xr.Dataset(
        {
            script: (dims, values, attributes),
            f"predicted_{script}_{tags}": (dims, values, attributes),
            tags: (dims, values),
        },
        {proto: [script, formula], image: (image, [signs, tags, comment], attributes)},
        {"theory": script, "key": image, "algorithm": tags, "config": json.dumps({script: image})},
    )
