"""What each part of the paper says, for readers who have not read the proof. Formulas stand between dollars."""

from typing import NamedTuple

from ensample.claims import Section

PAPER = "Harin Lee and Min-hwan Oh, “Improved Regret of Linear Ensemble Sampling”"

ABOUT = (
    "Ensemble sampling chooses between arms by keeping several models of the rewards, each trained on rewards with noise of "
    "its own added, and acting in every round as one of them believes. The paper proves that an ensemble that grows with the "
    r"logarithm of the horizon is enough for a regret of order $d^{3/2}\sqrt{T}$. Below, each statement on the way is a "
    "program that could refute it, with what that program measured."
)

PROOF = (
    "The proof in short. Call a round optimistic if the model that acts promises at least what the best arm really pays. In "
    "such a round the regret is at most the model's error on the arm that is played, and playing the arm makes that error "
    r"smaller: errors can add up to little more than $\sqrt{T}$. So it is enough that models are never far from the truth, and "
    "that a round is optimistic with some fixed probability, whatever happened before. Perturbations see to both: they are too "
    "small to lead a member far away, and large enough that each member has a fair chance of being optimistic. The difficulty "
    "is that an ensemble is drawn once, and that its own choices might make all of its members pessimistic at the same time. "
    "The paper counts what can happen to an ensemble, finds it to be little, and takes enough members that none of it is "
    "likely to leave too few optimists."
)

READING = (
    "An identity compares two computations up to rounding; an inequality is searched for a counterexample; a probability is "
    "compared with an exact binomial interval; a rate is a slope on logarithmic axes with an interval over independent "
    "repetitions. A claim holds if the evidence lies on its side, is refuted if the evidence excludes it, and is inconclusive "
    "otherwise. The margin is the room left between the evidence and the bound, as a share of the bound: near 0 the statement "
    "is tight, far from 0 it gives much away.",
    "Every claim has a broken twin, the same statement with one part spoiled, and the same program has to refute it. A check "
    "that could not tell the two apart would say nothing. How much it can tell apart is its power: the smallest fault that it "
    "refutes. A fault of size $f$ divides a bound by $f$, leaves $m/f$ of $m$ members, multiplies perturbations by $f$, and so "
    "on, as each claim says; the table has the smallest. A power near $1$ means that a small error is noticed. A claim that "
    "would still hold with a tenfold fault in what it claims says so: it holds, but was not tested sharply, most often because "
    "a bound is far above all that happens.",
)

NUMBERING = (
    "Numbers of lemmas, theorems, propositions, corollaries and remarks were obtained by counting in the paper's source, each "
    "kind apart and in the order of the source; appendices have letters. The source sets up the counter of remarks itself and "
    "leaves the others to style files that are not with it. Where a printed version lets all but remarks share the counter of "
    "theorems, the theorems keep their numbers and Lemma $1$ is its Lemma $3$; the label beside a number is the same in both."
)


class Symbol(NamedTuple):
    latex: str
    meaning: str


NOTATION = (
    Symbol(
        "d,\\ K,\\ T", "dimension of the features, number of arms, number of rounds (the horizon)"
    ),
    Symbol("m", "size of the ensemble"),
    Symbol(
        r"\theta^*",
        "the unknown parameter: arm $x$ pays $x^\\top\\theta^*$ on average; its norm is at most $S$",
    ),
    Symbol("x^*", "the best arm"),
    Symbol(
        "X_t,\\ Y_t",
        "the arm played in round $t$ and its reward, which has noise of size $\\sigma$",
    ),
    Symbol(
        "R(T)",
        "regret: what the best arm would have paid on average in $T$ rounds, less what the arms played pay",
    ),
    Symbol(
        r"V_t",
        "$\\lambda I + \\sum_{i \\leq t} X_i X_i^\\top$: how well each direction has been explored; $\\lambda$ regularises",
    ),
    Symbol(r"\|x\|_{V^{-1}}", "the width of an arm: how uncertain its estimated mean still is"),
    Symbol(
        r"W^j,\ Z_t^j",
        "random perturbations of member $j$: one vector at the start, one number a round",
    ),
    Symbol(r"\hat\theta_t", "ridge regression on the real rewards"),
    Symbol(r"\tilde\theta_t^j", "what the perturbations add for member $j$"),
    Symbol(
        r"\beta_t",
        "radius of a confidence set around $\\hat\\theta_t$; $\\beta_T$ is also the scale of the perturbations",
    ),
    Symbol(r"\tilde\gamma_T,\ \gamma_T", "radii of $\\tilde\\theta$ and of a member's whole error"),
    Symbol(r"\delta", "the probability that is given up"),
    Symbol(r"p_N", "$0.1587$, the probability that a standard Gaussian exceeds $1$"),
    Symbol(
        r"\mathcal{P}_I,\ \mathcal{P}_R,\ \mathcal{J}_t",
        "laws of $W^j$ and of $Z_t^j$, and of the member that acts in round $t$",
    ),
    Symbol(r"\mathcal{F}_{t-1}", "all that has happened before round $t$ begins"),
    Symbol(
        r"\Phi_t,\ \mathbf{Z}_{t+1}^j",
        "the arms played in $t$ rounds as columns, after $\\sqrt\\lambda I$, and member $j$'s perturbations in the same order: "
        "$\\tilde\\theta_t^j = V_t^{-1}\\Phi_t \\mathbf{Z}_{t+1}^j$",
    ),
    Symbol(
        "U_t",
        "the direction along which a perturbation must be large for optimism: "
        "$U_t^\\top \\mathbf{Z}_{t+1}^j = x^{*\\top}\\tilde\\theta_t^j$",
    ),
    Symbol(
        r"B(\gamma, p)",
        "the general bound on the regret of models within $\\gamma$ of the truth and optimistic with probability $p$: "
        "the right side of the general theorem, below",
    ),
    Symbol(
        r"\sigma\text{-subGaussian}",
        "with tails no heavier than those of $\\mathcal{N}(0, \\sigma^2)$",
    ),
    Symbol(
        r"\mathrm{KL}(s\|q)",
        "how unlikely it is that a coin which falls heads with probability $q$ does so in a share $s$ of $m$ throws, or "
        "in fewer: at most "
        "$e^{-m\\,\\mathrm{KL}(s\\|q)}$",
    ),
)

INTRODUCTIONS = {
    Section.ALGORITHM: (
        "Every member of the ensemble solves a ridge regression of its own: it sees the real rewards, each with a random "
        "number added, and is pulled towards a random starting point. In each round one member is drawn and the arm it likes "
        "best is played. Because members disagree where data are few, drawing one of them explores, and no posterior has to "
        "be computed."
    ),
    Section.GENERAL: (
        "The paper first bounds the regret of any algorithm that plays the best arm of some parameter. Two conditions are "
        r"enough: the parameter stays within $\gamma$ of the truth, and with probability at least $p$ it is optimistic, that "
        "is, it promises at least what the best arm pays. Regret then adds up widths of the arms played, and these sum to "
        r"little more than $\sqrt{T}$, since every pull narrows the widths that follow. Ensembles enter only through $\gamma$ "
        "and $p$; an upper confidence bound method has $p = 1$. Where $p < 1$ the step from a round that is optimistic now and "
        "then to a bound of every round is Markov's inequality, and it costs a factor $2/p$."
    ),
    Section.ESTIMATES: (
        "A member's error has two sources, and they can be treated apart: noise in the rewards moves the ridge estimate, and "
        "perturbations move the member away from it. Both stay within a known radius with high probability, which is the "
        "first condition of the general bound. The statements hold for arms chosen in any way, as long as an arm is chosen "
        "before its noise and its perturbation are drawn."
    ),
    Section.OPTIMISM: (
        "The second condition is the heart of the proof. For a member to be optimistic it is enough that its perturbation is "
        "large along a single direction, which depends on the arms played so far, and a Gaussian perturbation is so with "
        "probability $p_N$. But members stay the same over the rounds, and the arms depend on them, so that chance has to "
        "hold for all histories at once. Histories are many, about $K^T$, yet only the number of pulls of each arm matters, "
        r"and there are at most $T^K$ such counts: hence an ensemble of order $K \log T$ is enough."
    ),
    Section.THEOREM: (
        r"Put together: with probability at least $1 - 4\delta$ the regret of ensemble sampling is of order $(d \log "
        r"T)^{3/2}\sqrt{T}$, and neither the number of arms nor the size of the ensemble appears in it. The constants are "
        "large, so measured regret lies far below the bound. What can be tested besides is the inequality of a single round, "
        "of which the theorem is the sum; that regret grows no faster in $T$ and in $d$ than the theorem allows; and that it "
        "does not grow with $K$ or $m$."
    ),
    Section.HISTORY: (
        "Perturbed-history exploration (LinPHE) draws fresh perturbations for the whole history in every round. A member that "
        "is drawn for the first time has perturbations that influenced nothing yet, so they might as well be fresh: LinPHE is "
        "ensemble sampling with one member a round. The regret bound carries over, needs no union bound, and so holds for "
        "infinitely many arms. With Gaussian perturbations LinPHE is also linear Thompson sampling, which the paper does not "
        "say."
    ),
    Section.LAWS: (
        "Gaussian perturbations are convenient, not necessary. The proof needs two properties of a law: it seldom is very "
        "large (concentration), and along any direction it reaches a third of its scale with probability at least $0.01$ "
        "(anti-concentration). Symmetric laws with light tails and a variance of at least $1/2$ have both, among them random "
        "signs. The price is in the constants: a larger scale, and an ensemble some 250 times as large."
    ),
    Section.AUXILIARY: (
        "Inequalities that the proofs borrow, checked by exact tails rather than by sampling. One of them is misprinted in the "
        "paper, and its broken twin is the line as printed."
    ),
    Section.LITERATURE: (
        "What other works say about the same algorithms, most of it negative: where too small an ensemble, too small a "
        "perturbation or a rule for choosing members that the theorem does not cover must fail. These claims mark the borders "
        "of the theorem."
    ),
    Section.BEYOND: (
        "Statements that are not in the paper. One better inequality in its proof, and the true number of pull counts, make "
        "the ensemble thirty times smaller for the same bound. If the member that promises most is played, in place of one "
        "drawn at random, then it is enough that one member is optimistic rather than a fixed share of them: fewer do, and "
        r"the factor $1 + 8/p_N \approx 51$ of the theorem becomes 1. The price is that all members are looked at in every "
        "round and that choices are no longer random. A policy can also add up what the proof says of each round that it has "
        "played, at the arms that it has met, which comes to far less than a bound for all sequences of arms: its certificate."
    ),
}
