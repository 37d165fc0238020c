"""Second routes to the room's closed forms, and the small configs they run on."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtheory.core import linalg
from jaxtheory.core.theory import Check
from jaxtheory.theories.random_walk import calculus, dynamics, model, predictions, training
from jaxtheory.theories.random_walk.model import Batch, Config, Literal, Problem, Reduced

PAPER = "Towards Understanding Transformers in Learning Random Walks"
ENUMERABLE = 8  # paths of at most this many states are enumerated
STEPS = 3
Compared = tuple[Any, ...] | None  # (got, want) or (got, want, standard error); None where a check does not apply


# Ingredients


def _case(key: Array, config: Config) -> tuple[Batch, Literal]:
    """Random tokens, positive values (so that the log is defined) and an attention that is neither saturated nor flat, from one draw."""
    K, N, B, m, M = (getattr(config, name) for name in ("num_states", "length", "num_sequences", "hidden_width", "encoding_dim"))
    linear, D = config.value == "linear", K.cap + M.cap
    shapes = [(B.cap, N.cap), (B.cap,), (K.cap if linear else m.cap, K.cap), (D, D), (0 if linear else K.cap, m.cap)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = jnp.split(jax.random.uniform(key, (ends[-1],)), ends[:-1])
    s, y, V, W, A = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    s, y = ((x * K.real).astype(jnp.int32) for x in (s, y))
    return model.make_batch(s, y, B, config), Literal(V, W - 0.5, None if linear else A - 0.1)


def _dense_logits(W: Float[Array, "D D"], batch: Batch, config: Config) -> Float[Array, "B N"]:
    """xt_j^T W xt_N from explicit one-hot tokens and sines, normalised one by one where tokens are unit. Needs unpadded sizes."""
    K, N, M = config.num_states.cap, config.length.cap, config.encoding_dim.cap
    onehot = jax.nn.one_hot(batch.s, K).at[:, N - 1].set(0)
    sines = jnp.sin(jnp.arange(1.0, N + 1)[:, None] * jnp.arange(1.0, M + 1)[None, :] * jnp.pi / (M + 1))
    X = jnp.concatenate([onehot, jnp.broadcast_to(sines[None], (batch.s.shape[0], N, M))], axis=2)
    if config.tokens == "unit":
        X = X / jnp.linalg.norm(X, axis=2, keepdims=True)
    return jnp.einsum("bjc,cd,bd->bj", X, W, X[:, N - 1])


def _dense_loss(params: Literal, batch: Batch, config: Config) -> Float[Array, ""]:
    """The loss as the source writes it, token by token."""
    S = jax.nn.softmax(_dense_logits(params.W, batch, config), axis=1)
    onehot = jax.nn.one_hot(batch.s, config.num_states.cap).at[:, config.length.cap - 1].set(0)
    hidden = jnp.einsum("bjk,bj,ik->bi", onehot, S, params.V)
    f = hidden if params.A is None else jnp.maximum(hidden, 0) @ params.A.T
    f_y = jnp.take_along_axis(f, batch.y[:, None], axis=1)[:, 0]
    if config.loss_function == "log":
        return -jnp.mean(jnp.log(f_y + config.epsilon))
    return jnp.mean((f_y - 1) ** 2) / 2 if config.loss_function == "square" else jnp.mean(jnp.maximum(1 - f_y, 0))


def _paths(config: Config) -> Batch:
    """Every path of the walk with its probability: the population, where N is small. Sizes unpadded."""
    K, N, p = config.num_states.cap, config.length.cap, config.clockwise_probability
    steps = np.array(list(itertools.product((1, -1), repeat=N - 1)))
    s = np.concatenate([np.zeros((len(steps), 1), int), np.cumsum(steps, axis=1)], axis=1)
    s = ((s[None] + np.arange(K)[:, None, None]) % K).reshape(-1, N)
    law = jnp.prod(jnp.where(jnp.asarray(steps) == 1, p, 1 - jnp.asarray(p)), axis=1) / K
    y, s[:, -1] = s[:, -1].copy(), 0
    return Batch(jnp.asarray(s, jnp.int32), jnp.asarray(y, jnp.int32), jnp.tile(law, K))


def _no_problem(batch: Batch) -> Problem:
    return Problem(batch, batch)


def _flat(tree: object) -> Float[Array, " n"]:
    """All entries of a pytree in one array, so that they are compared on one scale."""
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def _padded(config: Config) -> bool:
    return any(getattr(config, name).value is not None for name in ("num_states", "length", "encoding_dim", "num_sequences"))


def _layer(config: Config) -> bool:
    """Whether the layer is checked here: not again for data laws that it does not see, as tokens are random."""
    return config.task == "walk" and not config.population


def _enumerable(config: Config) -> bool:
    return config.task == "walk" and config.value == "linear" and config.length.cap <= ENUMERABLE and not _padded(config)


# The layer: gradient and reduction


def gradient_reduced(key: Array, config: Config) -> Compared:
    if not _layer(config):
        return None
    batch, literal = _case(key, config)
    params, problem = calculus.reduce(literal, config), _no_problem(batch)
    return calculus.gradient(params, batch, problem, config), jax.grad(model.loss)(params, batch, problem, config)


def gradient_literal(key: Array, config: Config) -> Compared:
    if _padded(config) or not _layer(config):
        return None
    batch, params = _case(key, config)
    return calculus.gradient(params, batch, _no_problem(batch), config), jax.grad(_dense_loss)(params, batch, config)


def slope_of_loss(key: Array, config: Config) -> Compared:
    f = jax.random.uniform(key, (20,), minval=-0.5 * config.epsilon, maxval=2.0)
    return calculus.slope(f, config), -jax.vmap(jax.grad(lambda x: model.ell(x, config)))(f)


def reduce_logits(key: Array, config: Config) -> Compared:
    if _padded(config) or not _layer(config):
        return None
    batch, params = _case(key, config)
    scores = calculus.reduce(params, config)
    token = jnp.arange(config.length.cap) < config.length.cap - 1
    got = jnp.where(token[None, :], scores.u[batch.s], 0) + scores.w[None, :]
    return got, _dense_logits(params.W, batch, config)


def lift_of_scores(key: Array, config: Config) -> Compared:
    """The lifted W has the scores it was given, and is the part of W that they see: |W|^2 = |W'|^2 + |W - W'|^2."""
    if not _layer(config):
        return None
    _, params = _case(key, config)
    scores = calculus.reduce(params, config)
    lifted = calculus.lift(scores, config)
    again = calculus.reduce(lifted, config)
    squares = jnp.sum(lifted.W**2) + jnp.sum((params.W - lifted.W) ** 2)
    return (_flat((again.u, again.w)), squares), (_flat((scores.u, scores.w)), jnp.sum(params.W**2))


def imprint_scores(key: Array, config: Config) -> Compared:
    """The new scores are taken over, and what they do not see stays: W' - lift(scores') = W - lift(scores)."""
    if not _layer(config):
        return None
    _, params = _case(key, config)
    before = calculus.reduce(params, config)
    u, w = before.u[::-1], jnp.where(config.length.mask(), before.w**2, 0)
    after = params._replace(W=calculus.imprint(params.W, u, w, config))
    found = calculus.reduce(after, config)
    unseen = [x.W - calculus.lift(scores, config).W for x, scores in ((after, found), (params, before))]
    return (_flat((found.u, found.w)), unseen[0]), (_flat((u, w)), unseen[1])


def rates_gram(_key: Array, config: Config) -> Compared:
    """d(scores)/dW times its transpose is the diagonal of rates: descent on W moves the scores so, and white W has white scores."""
    K, N, size = config.num_states, config.length, config.num_states.cap + config.encoding_dim.cap
    zero = Literal(jnp.zeros((K.cap, K.cap)), jnp.zeros((size, size)))
    jacobian = jax.jacobian(lambda W: _flat(model.scores(zero._replace(W=W), config)))(zero.W).reshape(K.cap + N.cap, -1)
    rate_u, rate_w = model.rates(config)
    valid = jnp.concatenate([jnp.ones(K.cap), N.mask().astype(float)])
    return jnp.diag(valid * jnp.concatenate([jnp.broadcast_to(rate_u, (K.cap,)), rate_w])), jacobian @ jacobian.T


def step_descends(key: Array, config: Config) -> Compared:
    """A step in V and W, and the step in the scores, against descent on the token-by-token loss; by induction the runs are the same."""
    if _padded(config) or not _layer(config):
        return None
    batch, params = _case(key, config)
    problem = _no_problem(batch)
    slopes = jax.grad(_dense_loss)(params, batch, config)
    want = jax.tree.map(lambda x, g: x - config.learning_rate * g, params, slopes)
    got = [training.step(key, 0, start, batch, problem, config) for start in (params, calculus.reduce(params, config))]
    return got, [want, calculus.reduce(want, config)]


# The data


def law_of_labels(key: Array, config: Config) -> Compared:
    """Labels of independent sequences against the law of the label given the sequence: the mean gap per state."""
    if config.population:
        return None
    batch = model.problem(key, config).train
    law = model.label_law(batch, config)
    gap = jax.nn.one_hot(batch.y, config.num_states.cap) - law
    variance = jnp.sum(batch.weight[:, None] ** 2 * law * (1 - law), axis=0)
    return jnp.sum(batch.weight[:, None] * gap, axis=0), jnp.zeros(config.num_states.cap), jnp.sqrt(variance)


def law_of_steps(key: Array, config: Config) -> Compared:
    """Every step of the training walks against Pi: a neighbour each time, clockwise with probability p."""
    if config.task != "walk" or config.population or config.length.cap < 3:
        return None
    K, N, p = config.num_states, config.length, config.clockwise_probability
    batch = model.problem(key, config).train
    inside = (jnp.arange(N.cap - 1) < jnp.asarray(N.n, int) - 2)[None, :] & (batch.weight > 0)[:, None]
    turn = (batch.s[:, 1:] - batch.s[:, :-1]) % K.n
    count = jnp.sum(inside).astype(float)
    shares = jnp.stack([jnp.sum(inside & (turn == 1)), jnp.sum(inside & (turn == K.n - 1))]).astype(float) / count
    error = jnp.sqrt(p * (1 - p) / count)
    return shares, jnp.stack([jnp.asarray(p), 1 - jnp.asarray(p)]), jnp.broadcast_to(error, (2,))


def best_accuracy_bayes(_key: Array, config: Config) -> Compared:
    """The best predictor of the whole path, by enumeration: sum over prefixes of the largest joint probability with a label."""
    if not _enumerable(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    paths = _paths(config)
    prefix = jnp.sum(paths.s[:, : N - 1] * jnp.asarray(K ** np.arange(N - 1), jnp.int32)[None, :], axis=1)
    joint = jnp.zeros((K ** (N - 1), K)).at[prefix, paths.y].add(paths.weight)
    return predictions.best_accuracy(config), jnp.sum(jnp.max(joint, axis=1))


# Population dynamics


def first_step_enumerated(_key: Array, config: Config) -> Compared:
    """Lemma C.1 and W = 0: one step of the population, all paths enumerated, from the zero start. hinge and square losses included."""
    if not _enumerable(config):
        return None
    K, N, paths = config.num_states.cap, config.length.cap, _paths(config)
    zero = Reduced(jnp.zeros((K, K)), jnp.zeros(K), jnp.zeros(N))
    slopes = jax.grad(model.loss)(zero, paths, _no_problem(paths), config)
    return _flat(dynamics.first_step(config)), -config.learning_rate * _flat(slopes)


def saturated_enumerated(key: Array, config: Config) -> Compared:
    """A step of V with all attention on the parent, all paths enumerated, from a circulant V."""
    if not _enumerable(config):
        return None
    N, paths = config.length.cap, _paths(config)
    v = jax.random.uniform(key, (config.num_states.cap,))
    parent = jnp.where(jnp.arange(N) == N - 2, 0.0, -1e4)
    of_V = lambda V: model.loss(Reduced(V, jnp.zeros_like(v), parent), paths, _no_problem(paths), config)
    V = dynamics.circulant(v, config)
    return dynamics.circulant(dynamics.saturated_step(v, config), config), V - config.learning_rate * jax.grad(of_V)(V)


def saturated_sqrt(key: Array, config: Config) -> Compared:
    """Log loss: x = v + eps obeys x <- x + c/x, hence x^2 >= x_0^2 + 2 c t, c = eta p / K: growth like sqrt(2 eta p t / K)."""
    if config.task != "walk" or config.loss_function != "log":
        return None
    v0 = jnp.where(config.num_states.mask(), jax.random.uniform(key, (config.num_states.cap,)), 0)
    v = jax.lax.fori_loop(0, 50, lambda _, v: dynamics.saturated_step(v, config), v0)
    c = config.learning_rate / config.num_states.real * dynamics.step_law(config)
    return jnp.sqrt((v0 + config.epsilon) ** 2 + 100 * c), v + config.epsilon


def selected_run_early(_key: Array, config: Config) -> Compared:
    """The first steps of the predicted run: exact at t = 1, and again from t = 2 on by the saturated step."""
    if config.task != "walk":
        return None
    v = dynamics.selected_run(config, 4).v
    want = jnp.stack([dynamics.first_step(config).V[:, 0], dynamics.saturated_step(v[2], config)])
    return v[jnp.array([1, 3])], want


def limits_of_direction(_key: Array, config: Config) -> Compared:
    """The limits of direction (sqrt p, sqrt(1 - p)) from the K x K matrices; both vanish at p = 1/2, so a 1 beside them sets the scale."""
    if config.task != "walk":
        return None
    law = model.transition(config)
    q = jnp.sqrt(law) / jnp.where(config.num_states.mask(), jnp.sum(jnp.sqrt(law), axis=1), 1)[:, None]
    kl = jnp.sum(jnp.where(law > 0, law * jnp.log(jnp.where(law > 0, law / jnp.where(law > 0, q, 1), 1)), 0)) / config.num_states.real
    one = jnp.ones(())
    return jnp.stack([one, *predictions.limit_error(config)]), jnp.stack([one, linalg.direction_error(jnp.sqrt(law), law), kl])


# The symmetric run


def _symmetric_training(disturbance: Float[Array, " N"], config: Config, steps: int) -> list[Reduced]:
    """The first states of the actual algorithm in population mode, from zero scores plus a disturbance of w."""
    K = config.num_states.cap
    problem = model.problem(jax.random.key(0), config)
    run: list[Any] = [Reduced(jnp.zeros((K, K)), jnp.zeros(K), disturbance)]
    for t in range(steps):
        run.append(training.step(jax.random.key(0), t, run[-1], problem.train, problem, config))
    return run


def _symmetric(config: Config) -> bool:
    exact = config.population and config.value == "linear" and not _padded(config)
    return exact and (config.length.cap - 1) % config.num_states.cap == 0


def symmetric_values(_key: Array, config: Config) -> Compared:
    if not _symmetric(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    problem = model.problem(jax.random.key(0), config)
    run = _symmetric_training(jnp.zeros(N), config, STEPS)
    closed = dynamics.symmetric_run(config, STEPS + 1)
    attentions = jnp.stack([model.attend(state, problem.train, config)[0] for state in run])
    tokens = jnp.broadcast_to(closed.token[:, None, None], (STEPS + 1, K, N - 1))
    got = jnp.concatenate([tokens, jnp.broadcast_to(closed.query[:, None, None], (STEPS + 1, K, 1))], axis=2)
    values = jnp.broadcast_to(closed.alpha[:, None, None], (STEPS + 1, K, K))
    return (got, values), (attentions, jnp.stack([state.V for state in run]))


def symmetric_growth(key: Array, config: Config) -> Compared:
    """The growth of a disturbance against the derivative of the actual run."""
    if not _symmetric(config):
        return None
    K, N = config.num_states.cap, config.length.cap
    lag_class = (N - 1 - jnp.arange(N - 1)) % K
    sums = lambda w: (c := jnp.zeros(K).at[lag_class].add(w[: N - 1])) - jnp.mean(c)
    direction = jax.random.normal(key, (N,))
    _, moved = jax.jvp(lambda w: [state.w for state in _symmetric_training(w, config, STEPS)], (jnp.zeros(N),), (direction,))
    want = jnp.stack([sums(w) for w in moved])
    return dynamics.symmetric_run(config, STEPS + 1).growth[:, None] * sums(direction)[None, :], want


def wave_orthogonality(_key: Array, config: Config) -> Compared:
    P, N = model.encodings(config), config.length
    rho = (jnp.asarray(config.encoding_dim.real, float) + 1) / 2
    return P @ P.T, rho * jnp.diag(N.mask().astype(float))


CHECKS = (
    Check("gradient: autodiff of the loss in the scores", PAPER, "equal", gradient_reduced),
    Check("gradient: autodiff of the token-by-token loss in V and W", PAPER, "equal", gradient_literal),
    Check("slope: autodiff of ell", PAPER, "equal", slope_of_loss),
    Check("encodings: orthogonal, of squared norm (M+1)/2", "derived (DST-I)", "equal", wave_orthogonality),
    Check("reduce: token-by-token logits", "derived", "equal", reduce_logits),
    Check("lift: smallest matrix with the scores", "derived", "equal", lift_of_scores),
    Check("imprint: new scores, the rest kept", "derived", "equal", imprint_scores),
    Check("rates: Gram matrix of the scores in W", "derived", "equal", rates_gram),
    Check("step: descent on the token-by-token loss, literal and reduced", PAPER, "equal", step_descends),
    Check("label_law: frequencies of labels", PAPER, "sample", law_of_labels),
    Check("problem: frequencies of steps", PAPER, "sample", law_of_steps),
    Check("best_accuracy: Bayes predictor by enumeration", f"{PAPER}, corollary", "equal", best_accuracy_bayes),
    Check("first_step: enumeration of all paths", f"{PAPER}, Lemma C.1", "equal", first_step_enumerated),
    Check("saturated_step: enumeration of all paths", "derived", "equal", saturated_enumerated),
    Check("saturated_step: square-root growth", "derived", "bound", saturated_sqrt),
    Check("selected_run: first and saturated steps", "derived", "equal", selected_run_early),
    Check("limit_error: from the matrices", "derived", "equal", limits_of_direction),
    Check(
        "symmetric_run: attention and values of the algorithm", f"{PAPER}, failure theorem; recursion derived", "equal", symmetric_values
    ),
    Check("symmetric_run: growth is the run's derivative", "derived", "equal", symmetric_growth),
)

_SMALL: dict[str, Any] = {"num_sequences": 16, "encoding_dim": 7}
EXAMPLES = (
    Config(num_states=5, length=6, clockwise_probability=0.7, **_SMALL),
    Config(num_states=3, length=2, clockwise_probability=0.5, num_sequences=12, encoding_dim=2),
    Config(num_states=4, length=5, clockwise_probability=0.3, init_scale=0.2, tokens="unit", loss_function="square", **_SMALL),
    Config(num_states=6, length=7, clockwise_probability=0.0, num_sequences=10, encoding_dim=8, tokens="unit", loss_function="hinge"),
    Config(num_states=3, length=7, clockwise_probability=1.0, population=True, encoding_dim=7, learning_rate=0.3),
    Config(num_states=3, length=7, clockwise_probability=0.0, population=True, encoding_dim=9, tokens="unit", loss_function="square"),
    Config(num_states=4, length=9, clockwise_probability=1.0, population=True, encoding_dim=9, perturbation=0.1, loss_function="hinge"),
    Config(num_states=5, length=6, clockwise_probability=0.8, value="mlp", hidden_width=4, init_scale=0.1, **_SMALL),
    Config(num_states=19, length=17, task="qa1", init_scale=0.1, tokens="unit", num_sequences=12, encoding_dim=17),
    Config(num_states=19, length=19, task="qa2", init_scale=0.1, num_sequences=12, encoding_dim=20),
    Config(num_states=5, length=6, clockwise_probability=0.7, **_SMALL).pad(num_states=7, length=9, num_sequences=20, encoding_dim=11),
)
