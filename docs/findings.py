"""What README and the pages tell as findings, each with the claims that it rests on.

The first of a theory stands in README's table too. The finding of a figure is in its own file.
"""

from jaxtheory.claims import Finding

THEORIES: dict[str, tuple[Finding, ...]] = {
    "random_walk": (
        Finding(
            "Attention selects the parent token at p = 1/2, but the value matrix takes the direction of √Πᵀ, and not that of the transition matrix Πᵀ",
            rests_on=("RW-2", "RW-11", "RW-12", "RW-16"),
        ),
        Finding(
            "Predictions at p = 1/2 are optimal, yet the output does not converge to the transition probabilities",
            rests_on=("RW-1", "RW-6", "RW-35"),
        ),
        Finding(
            "On the circle of 20 states attention misses the parent at more than a quarter of nine probabilities from 0.05 to 0.98",
            rests_on=("RW-22",),
        ),
        Finding(
            "Walks of p = 0 and 1 are not learned from zero where N = rK + 1, and are learned at the other lengths that were tried",
            rests_on=("RW-9", "RW-10"),
        ),
    ),
    "attention_pruning": (
        Finding(
            "With half of the weights pruned a mask fitted by gradient descent has at most 0.6 of the error of Wanda and SparseGPT on its calibration data, but a larger error than the better of them on held-out data",
            rests_on=("AP-11", "AP-26"),
        ),
        Finding(
            "On its calibration data the mask outperforms both from a pruning ratio of 0.2 to 0.9, though not at every ratio from 0.05 on",
            rests_on=("AP-16", "AP-51"),
        ),
        Finding(
            "For smooth attention with up to half of the weights pruned it is worse even on its calibration data",
            rests_on=("AP-24",),
        ),
    ),
    "contextual_bigram": (
        Finding(
            "On small batches proximal steps end with less excess loss than SGD for at least half of the numbers of tokens, yet they are not necessary: after plain SGD, too, rounding recovers more than half of the columns for some of them",
            rests_on=("CB-68", "CB-70"),
        ),
        Finding(
            "Proximal steps are better than SGD in distances and cosines before rounding, but not in all of eight metrics before and after it",
            rests_on=("CB-15", "CB-16"),
        ),
        Finding(
            "At the λ = 1e-5 of the source's experiments at least a fifth of the entries of A fall below −λ before the proximal step",
            rests_on=("CB-62",),
        ),
    ),
    "nearest_neighbor": (
        Finding(
            "Gradient descent makes attention select the nearest example, and what attention misses of it falls as t^(-1/3)",
            rests_on=("NN-8", "NN-10"),
        ),
        Finding(
            "The theorem on distribution shift, as the talk prints it, fails where every example is opposite to the query",
            rests_on=("NN-20",),
        ),
        Finding(
            "The query attends to itself with the logit ξ₁ − ξ₂, not −ξ₂ as printed",
            rests_on=("NN-34", "NN-35"),
        ),
        Finding("The layer is trained without an initial mask, too", rests_on=("NN-11",)),
    ),
    "group_sparse": (
        Finding(
            "Attention selects the relevant group, but at t = D³ the attention on the other groups is not exponentially small in their number D",
            rests_on=("GS-12", "GS-25"),
        ),
        Finding(
            "The loss at equal times goes as D^(-2/3), not as D^(-1), which a time of order 1/(D³ε³) would need",
            rests_on=("GS-19", "GS-20"),
        ),
        Finding("The time until attention selects hardly depends on D", rests_on=("GS-24",)),
    ),
    "in_context_regression": (
        Finding(
            "Linear attention learns to regress in context in one abrupt drop with merged keys and queries, and with separate ones of rank 1 in a staircase through the heights of the theory",
            rests_on=("IR-1", "IR-2", "IR-4"),
        ),
        Finding(
            "The time at the start grows nearly as 1/σ, σ the initial scale, for separate keys and queries, and grows with log(1/σ) for merged ones",
            rests_on=("IR-14", "IR-15"),
        ),
        Finding(
            "From the initial weights one scalar equation per head tells when each component is learned, within 10 % in three of four runs with σ = 0.003",
            rests_on=("IR-18",),
        ),
        Finding(
            "Heads of full rank make fewer drops than those of rank 1, and still at least two",
            rests_on=("IR-12", "IR-13"),
        ),
    ),
    "causal_graph": (
        Finding(
            "The first layer finds the parent of each token on chains, trees and pairs, in all runs (α = 1/2); as prompts grow the loss nears that of the posterior mean, and on chains of two other laws than in training it comes at least 70 % of the way (T = 256)",
            rests_on=("CG-1", "CG-26", "CG-27", "CG-29"),
        ),
        Finding(
            "The first gradient is largest at the parents, as printed, and follows the overlap G (α up to 1/2)",
            rests_on=("CG-5", "CG-7"),
        ),
        Finding(
            "Parents are lost on flat chains where the initial strength exceeds a few times T/(S α + 1), and on sticky chains, whose first gradient turns to the own token at c* = 0.19 in long prompts (α = 1/2)",
            rests_on=("CG-30", "CG-31", "CG-33", "CG-35"),
        ),
    ),
    "task_diversity": (
        Finding(
            "With more prompts (d = 12, α = 4) the error on fresh tasks falls, rises to a peak where prompts are as many as weights, and falls again",
            rests_on=("TD-1", "TD-2"),
        ),
        Finding(
            "Descent that is stopped at its best step, which comes early, has no peak where prompts are as many as weights",
            rests_on=("TD-17",),
        ),
        Finding(
            "With many long prompts (α = 8, τ = 6) the error on fresh tasks is at least three times that on training tasks for half as many tasks as dimensions, at least twice for as many, and at most 1.2 times for four times as many",
            rests_on=("TD-9", "TD-23", "TD-25"),
        ),
        Finding(
            "There, fitted without the weights γ that the limit drops, d of d(d + 1), errors on fresh tasks are within 15 % of Result 1 up to half as many tasks as dimensions, and with them at least 15 % above",
            rests_on=("TD-27", "TD-28"),
        ),
    ),
    "low_rank": (
        Finding(
            "With two relevant patterns and two classes, updates that are cut to rank 2 keep the loss and the attention; rank 1 costs at least 0.2 of loss",
            rests_on=("LR-1", "LR-2", "LR-11"),
        ),
        Finding(
            "With more patterns than classes the rank is the number of patterns for W_Q and W_K alone, and the number of classes suffices for all changes",
            rests_on=("LR-48", "LR-51", "LR-52"),
        ),
        Finding(
            "Not all singular values increase along training, as printed, but the ten largest do",
            rests_on=("LR-10", "LR-105"),
        ),
        Finding(
            "Two neurons in five can be removed at a cost of at most 0.02 of loss",
            rests_on=("LR-20",),
        ),
        Finding(
            "Cross terms of W_Q, W_K and W_V do not fall as 1/(MT), as one would read the orders of the source",
            rests_on=("LR-33", "LR-37", "LR-109"),
        ),
    ),
    "factual_recall": (
        Finding(
            "The model learns relations first, and until it learns subjects it answers each relation with its answers as often as they occur",
            rests_on=("FR-1", "FR-2"),
        ),
        Finding(
            "The times of both stages grow with log(1/α) as derived from the gradient at the start and on the plateau, and the order is reversed for few subjects and many relations",
            rests_on=("FR-7", "FR-8", "FR-11"),
        ),
        Finding(
            "The number of facts that training recalls with random embeddings grows nearly as the number d² of weights",
            rests_on=("FR-12",),
        ),
        Finding(
            "Rare subjects are learned late by descent, and hardly later than others by Adam",
            rests_on=("FR-14", "FR-15"),
        ),
    ),
    "positional_semantic": (
        Finding(
            "The minimum is positional with few samples and semantic with many, and both have the test errors, overlaps and energies of the law",
            rests_on=("PS-1", "PS-2", "PS-3", "PS-5", "PS-8"),
        ),
        Finding(
            "The semantic minimum beats the best constant matrix from fewer samples on than it has the lower energy",
            rests_on=("PS-6", "PS-7", "PS-10"),
        ),
        Finding(
            "From a small random start descent stays positional, with 1.7 times the energy of the semantic minimum at α = 6",
            rests_on=("PS-12", "PS-13"),
        ),
    ),
}

LADDERS: dict[str, tuple[Finding, ...]] = {
    "random_walk": (
        Finding(
            "Most of eight networks learn the walk, and those that do use the parent: cutting the edges to it costs half of the gap or more",
            rests_on=("NW-74", "NW-75"),
        ),
    ),
    "attention_pruning": (
        Finding(
            "On trained attention layers of one head the mask has a smaller error than Wanda and SparseGPT on average of half and 0.8 pruned, and a larger one where a fifth is",
            rests_on=("NW-100", "NW-101"),
        ),
        Finding(
            "Networks that have learned to imitate an attention layer use the token to which it attends most",
            rests_on=("NW-97", "NW-98"),
        ),
        Finding(
            "With half pruned the smallest entries of W_Q W_Kᵀ do nearly as well as the mask",
            rests_on=("NW-102",),
        ),
    ),
    "contextual_bigram": (
        Finding(
            "Most of eight networks learn bigrams, and those with AdamW, residual stream, norm and MLP use nothing but the attended position",
            rests_on=("NW-83", "NW-85"),
        ),
        Finding(
            "Each that has learned loses half of the gap or more without the edges to it",
            rests_on=("NW-84",),
        ),
    ),
    "nearest_neighbor": (
        Finding(
            "Networks that have learned use the nearest example, and with AdamW, residual stream, norm and MLP nothing else",
            rests_on=("NW-81", "NW-82"),
        ),
    ),
    "group_sparse": (
        Finding(
            "Networks that have learned to classify use the relevant group, and with AdamW, residual stream, norm and MLP nothing else",
            rests_on=("NW-77", "NW-78", "NW-79"),
        ),
    ),
    "low_rank": (
        Finding(
            "Networks that have learned to tell two patterns apart use their tokens, and cutting the updates of query, key and value to rank 1 costs at most 0.1 of the gap",
            rests_on=("NW-93", "NW-94", "NW-96"),
        ),
    ),
    "in_context_regression": (
        Finding(
            "Networks that have learned to regress in context lose half of the gap or more where the query cannot read the examples",
            rests_on=("NW-89",),
        ),
        Finding(
            "Networks with AdamW, residual stream, norm and MLP that have learned to regress in context answer like least squares, and not like the best linear layer",
            rests_on=("NW-90",),
        ),
    ),
    "causal_graph": (
        Finding(
            "Networks that have learned chains in context use the parents: cutting the edges to them costs half of the gap or more",
            rests_on=("NW-87",),
        ),
    ),
    "task_diversity": (
        Finding(
            "A standard Transformer that was trained on 64 tasks answers fresh ones as well as these, with less loss than any layer of linear attention",
            rests_on=("NW-91", "NW-92", "NW-99"),
        ),
    ),
    "factual_recall": (
        Finding(
            "Networks that have learned facts use the subject and the relation: cutting the edges to both costs half of the gap or more",
            rests_on=("NW-104",),
        ),
    ),
}

FRONT = (  # the titles of the panels of docs/front.webp
    Finding("A theorem that holds: plateaus of the loss", rests_on=("IR-1",)),
    Finding(
        r"One that fails: $V \propto \sqrt{\Pi^\top}$, not $\Pi^\top$", rests_on=("RW-11", "RW-12")
    ),
    Finding("Where it ends: a boundary and its law", rests_on=("RW-49",)),
)
