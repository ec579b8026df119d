// Perturbation sums that are drawn anew each round, with larger perturbations of older observations
// (ageing).
//
// After n observations the i-th is perturbed with 1 + rate log2(n / i) times the variance of a new
// one, and the prior with 1 + A times its own. Of G = sum x x' two triangular roots are kept: L'L =
// G where observations age, and R'R = G + E with E what ageing has added. At n = 2, 3, 4, 5, 7, 9,
// ... the ageing a = rate log2(1 + (n - n_b) / n_eff(n_b)) since the last such n, n_b, is added to
// all observations so far: E <- E + a G and A <- A + a. A draw is
//
//     S = initial sqrt((1 + A) prior) w + reward R'g,   w, g ~ N(0, I).
//
// The prior is no part of R, so that it may be learned anew at any time.
#pragma once

#include "calibration.hpp"
#include "ensemble.hpp"
#include "kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// The roots that fresh members are drawn from.
struct FreshRoots {
  Matrix root;        // R [d, d]
  Matrix gram_root;   // L [d, d], or [0, d] if nothing ages
  double& prior_age;  // A
  double& aged_at;    // n_b; 0 before the first observation

  FreshRoots(Matrix root, Matrix gram_root, Vector ages)
      : root(root), gram_root(gram_root), prior_age(ages[0]), aged_at(ages[1]) {}
};

/// Memory of FreshRoots, which simulated runs own.
struct RootBuffers {
  OwnedMatrix root_buffer, gram_root_buffer;
  Buffer<double> ages_buffer{2};

  RootBuffers(Index d, bool has_ageing)
      : root_buffer(d, d), gram_root_buffer(has_ageing ? d : 0, d) {}
};

struct OwnedRoots : RootBuffers, FreshRoots {
  OwnedRoots(Index d, bool has_ageing)
      : RootBuffers(d, has_ageing), FreshRoots(root_buffer, gram_root_buffer, ages_buffer) {}
};

inline void scale_triangle(Matrix root, double factor) {
  for (Index i = 0; i < root.rows; ++i)
    for (Index k = i; k < root.columns; ++k) root(i, k) *= factor;
}

/// Fade the past by one observation: R and L times sqrt(g), A times g.
inline void fade_roots(FreshRoots& roots, double fading_rate) {
  const double kept = kept_share(fading_rate), shrink = std::sqrt(kept);
  scale_triangle(roots.root, shrink);
  scale_triangle(roots.gram_root, shrink);
  roots.prior_age *= kept;
}

/// Add x x', of observation number `count`, to G, and age all observations so far if it is time.
inline void add_to_roots(FreshRoots& roots, double ageing_rate, ConstVector x, double count,
                         double fading_rate) {
  const Index d = x.size();
  Buffer<double> scratch(d, Fill::none);
  rotate(roots.root, x, scratch);
  if (roots.gram_root.rows == 0) return;
  rotate(roots.gram_root, x, scratch);
  const double last = roots.aged_at;
  if (last == 0.0) {
    roots.aged_at = count;
  } else if (count >= next_calibration(last, fading_rate)) {
    const double added =
        ageing_rate * log2(1.0 + (count - last) / effective_count(last, fading_rate));
    roots.prior_age += added;
    roots.aged_at = count;
    Buffer<double> row(d, Fill::none);
    for (Index i = 0; i < d; ++i) {
      for (Index k = 0; k < d; ++k) row[k] = std::sqrt(added) * roots.gram_root(i, k);
      rotate(roots.root, row, scratch);
    }
  }
}

/// Write theta_hat + V^-1 S, a row for each row of w and g [m, d].
inline void fresh_thetas(Matrix state, const FreshDraws& draws, Matrix thetas) {
  const RidgeState ridge(state);
  const Index d = ridge.dim();
  Buffer<double> buffer(2 * d, Fill::none);
  const Vector total{buffer.data(), d}, weights{buffer.data() + d, d};
  for (Index j = 0; j < draws.w.rows; ++j) {
    for (Index i = 0; i < d; ++i) weights[i] = draws.reward_scale * draws.g(j, i);
    sum_rows(total, draws.root, weights);
    for (Index i = 0; i < d; ++i)
      total[i] +=
          draws.initial_scale * std::sqrt((1.0 + draws.prior_age) * ridge.prior[i]) * draws.w(j, i);
    shift_mean(ridge.estimate, total, thetas[j]);
  }
}

/// Write the coefficients of w and of g in each arm's score, a column an arm: of an arm with V^-1 x
/// = gain they are initial sqrt((1 + A) prior) gain, in place of `gains`, and reward R gain.
inline void weigh_draws(const RidgeState& ridge, const FreshDraws& draws, Matrix gains,
                        Matrix of_past) {
  for (Index i = 0; i < gains.rows; ++i) {
    for (double& entry : of_past[i]) entry = 0.0;
    add_dots(of_past[i], gains, draws.root[i]);
    for (double& entry : of_past[i]) entry *= draws.reward_scale;
  }
  for (Index i = 0; i < gains.rows; ++i) {
    const double weight = draws.initial_scale * std::sqrt((1.0 + draws.prior_age) * ridge.prior[i]);
    for (double& entry : gains[i]) entry *= weight;
  }
}

/// Greedy arm of every draw among the columns of `by_coordinate` [d, K]. As by `fresh_thetas`, but
/// for rounding: x'theta = x'theta_hat + (V^-1 x)'S takes K d (d + m) steps instead of m d (d + K).
inline void vote_fresh(Matrix state, const FreshDraws& draws, ConstMatrix by_coordinate,
                       ConstVector sizes, Ints chosen) {
  const RidgeState ridge(state);
  const Index d = ridge.dim(), m = draws.w.rows, arms = by_coordinate.columns;
  Buffer<double> buffer(d * arms + 2 * d * m + m + arms + d, Fill::none);
  const Matrix of_past{buffer.data(), d, arms}, w{of_past.data + d * arms, d, m};
  const Matrix g{w.data + d * m, d, m};
  const Vector scores{g.data + d * m, m}, centres{scores.data() + m, arms};
  const Vector weights{centres.data() + arms, d};
  OfferedArms offered(ridge, by_coordinate, sizes);
  Votes votes(m);
  transpose(w, draws.w);
  transpose(g, draws.g);
  for (double& centre : centres) centre = 0.0;
  add_dots(centres, offered.features(), ridge.estimate.mean);
  weigh_draws(ridge, draws, offered.gains(), of_past);
  for (Index k = 0; k < arms; ++k) {
    for (double& score : scores) score = centres[k];
    read_column(offered.gains(), k, weights);
    add_dots(scores, w, weights);
    read_column(of_past, k, weights);
    add_dots(scores, g, weights);
    votes.compare(scores, k);
  }
  votes.write(chosen);
}

}  // namespace ensample::ENSAMPLE_LEVEL
