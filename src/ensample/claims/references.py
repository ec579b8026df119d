"""Where the paper says it: numbers and names of what its labels label.

Lemmas, theorems, propositions and remarks are counted apart, in the order of the source, appendices by letters. Numbers were
worked out by counting environments in the source, whose style files are not with it. The paper sets up a counter of its own for
its remarks, which the journal's stock style would refuse, as that defines remarks itself and lets all kinds share one counter;
so the others are taken to have counters of their own too. This is an inference: were lemmas, propositions and corollaries
counted with the theorems, these would keep their numbers, and Lemma 1 would be Lemma 3. The label stands beside every number.
"""

PLACES = {
    "alg:enssamp": "Algorithm 1 (linear ensemble sampling)",
    "alg:phe": "Algorithm 2 (LinPHE)",
    "eq:minimization problem": "Equation 1 (what a member minimises)",
    "eq:theta decomposition": "Equation 5 (decomposition of a member)",
    "thm:enssamp": "Theorem 1 (regret bound of linear ensemble sampling)",
    "thm:general": "Theorem 2 (general regret bound for linear bandit algorithms)",
    "remark:janz_ensemble_size_increasing": "Remark 2 (dependence on the ensemble size)",
    "rmk:non gaussian": "Remark 3 (generalizability of perturbation distributions)",
    "lma:theta hat concetration": "Lemma 1 (Abbasi-Yadkori et al. 2011, Theorem 2)",
    "lma:optimism lemma": "Lemma 2 (sufficient condition for optimism)",
    "lma:rpe result": "Lemma 3 (concentration and anti-concentration suffice)",
    "lma:gaussian concentration lemma": "Lemma 4 (concentration of Gaussian perturbations)",
    "fact:gaussian": "Fact 1 (anti-concentration of Gaussians)",
    "prop:optimism": "Proposition 1 (a share of the members is optimistic)",
    "prop:enssamp is phe": "Proposition 2 (LinPHE is ensemble sampling)",
    "cor:phe": "Corollary 1 (regret bound of LinPHE)",
    "lma:elliptical potential lemma": "Lemma 5 (Abbasi-Yadkori et al. 2011, Lemmas 10 and 11)",
    "lma:g is nonnegative": "Lemma 6 (what Markov's inequality needs)",
    "lma:Chi squared tail inequality": "Lemma 7 (length of a Gaussian vector)",
    "appx:rigorous explanation": "Appendix F (justification of Proposition 1)",
    "appx:beyond gaussian": "Appendix H (generalizability of perturbation distributions)",
    "lma:self-normalized bound": "Lemma 8 (Abbasi-Yadkori et al. 2011, Theorem 1)",
    "lma:concentration lemma": "Lemma 9 (sufficient condition for concentration)",
    "lma:bound 2norm": "Lemma 10 (length of a subGaussian vector)",
    "lma:Azuma-Hoeffding inequality": "Lemma 12 (Azuma-Hoeffding inequality)",
    "lma:chi-squared": "Lemma 13 (Laurent and Massart 2000, Lemma 1)",
}


def place(reference: str) -> str | None:
    """The number and name of a label; None for what is not one.

    >>> place("lma:rpe result"), place("Janz 2026")
    ('Lemma 3 (concentration and anti-concentration suffice)', None)
    """
    return PLACES.get(reference)


def cited(reference: str) -> str:
    """A reference in words: number, name and label, or the literature as it is.

    >>> cited("thm:enssamp"), cited("Janz 2026")
    ('Theorem 1 (regret bound of linear ensemble sampling), thm:enssamp', 'Janz 2026')
    """
    found = place(reference)
    return reference if found is None else f"{found}, {reference}"
