// Information-directed sampling from the members of an ensemble, on finitely many arms.
//
// Everything follows from scores[k, j] = x_k'theta^j: members are draws from a posterior, a
// member's greedy arm is the arm that is best if that member is right, and an arm informs as far as
// its value depends on which arm is best.
#pragma once

#include <algorithm>
#include <limits>

#include "linalg.hpp"
#include "kernels.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// scores [K, m] = x_k'theta^j, from thetas [d, m] and the columns of `by_coordinate` [d, K].
inline void score_members(ConstMatrix thetas, ConstMatrix by_coordinate, Matrix scores) {
  Buffer<double> x(by_coordinate.rows, Fill::none);
  for (Index k = 0; k < by_coordinate.columns; ++k) {
    for (Index i = 0; i < x.size(); ++i) x[i] = by_coordinate(i, k);
    sum_rows(scores[k], thetas, x);
  }
}

/// Delta_k, v_k and x_k'mu from scores [K, m]. Where the members agree on the best arm, every v_k
/// is 0 exactly.
class GapsAndGains {
  Buffer<Index> votes;
  Buffer<double> best_scores, counts, sums;

 public:
  Buffer<double> gaps, gains, means;

  GapsAndGains(Index arms, Index members)
      : votes(members), best_scores(members, Fill::none), counts(arms), sums(arms, Fill::none),
        gaps(arms, Fill::none), gains(arms, Fill::none), means(arms, Fill::none) {}

  void compute(ConstMatrix scores) {
    const Index arms = scores.rows, m = scores.columns;
    const double best_total = vote(scores), members = double(m);
    for (Index k = 0; k < arms; ++k) {
      for (auto& sum : sums) sum = 0.0;  // of x_k'theta^j over the members that vote for each arm
      const double* row = &scores(k, 0);
      for (Index j = 0; j < m; ++j) sums[votes[j]] += row[j];
      double total = 0.0;
      for (const double sum : sums) total += sum;
      means[k] = total / members;
      gaps[k] = std::max(0.0, best_total / members - means[k]);
      gains[k] = 0.0;
      for (Index best = 0; best < arms; ++best)
        if (counts[best] > 0.0) {
          const double difference = sums[best] / counts[best] - means[k];
          gains[k] += counts[best] / members * difference * difference;
        }
    }
  }

 private:
  /// Find every member's best arm, the lowest on ties, and return the sum of what they promise.
  double vote(ConstMatrix scores) {
    for (auto& v : votes) v = 0;
    for (auto& count : counts) count = 0.0;
    for (Index j = 0; j < best_scores.size(); ++j) best_scores[j] = scores(0, j);
    for (Index k = 1; k < scores.rows; ++k) {
      const double* row = &scores(k, 0);
      for (Index j = 0; j < best_scores.size(); ++j) {
        const bool more = row[j] > best_scores[j];
        best_scores[j] = more ? row[j] : best_scores[j];
        votes[j] = more ? k : votes[j];
      }
    }
    double best_total = 0.0;
    for (Index j = 0; j < best_scores.size(); ++j) {
      counts[votes[j]] += 1.0;
      best_total += best_scores[j];
    }
    return best_total;
  }
};

/// The pair that minimises (expected gap)^2 / expected gain; greedy where no arm informs.
///
/// The objective is convex and some minimiser has at most two arms (Russo & Van Roy 2018). For a
/// pair with gaps g1, g2 and gains v1, v2 the ratio (g2 + q D)^2 / (v2 + q G), D = g1 - g2, G = v1
/// - v2, is least at q = g2/D - 2 v2/G or at an end. The lowest indices win ties.
inline ArmPair best_pair(ConstVector gaps, ConstVector gains, ConstVector means) {
  const Index arms = gaps.size();
  double least = std::numeric_limits<double>::infinity();
  ArmPair best{0, 0, 1.0};
  for (Index k = 0; k < arms; ++k)
    if (gains[k] > 0.0 && gaps[k] * gaps[k] / gains[k] < least) {
      best.first = k;
      least = gaps[k] * gaps[k] / gains[k];
    }
  if (least == std::numeric_limits<double>::infinity()) best.first = argmax(means);
  best.second = best.first;
  for (Index one = 0; one < arms; ++one)
    for (Index other = one + 1; other < arms; ++other) {
      // The arm with the smaller gap plays the same part whatever its index, so that equal arms
      // give equal ratios.
      const bool ordered = gaps[one] <= gaps[other];
      const Index near = ordered ? one : other, far = ordered ? other : one;
      const double D = gaps[near] - gaps[far], G = gains[near] - gains[far];
      if (D == 0.0 || G == 0.0) continue;
      const double q = gaps[far] / D - 2.0 * gains[far] / G;
      if (!(0.0 < q && q < 1.0)) continue;
      const double gap = gaps[far] + q * D, gain = gains[far] + q * G;
      if (gain > 0.0 && gap * gap / gain < least) {
        best = {near, far, q};
        least = gap * gap / gain;
      }
    }
  return best;
}

}  // namespace ensample::ENSAMPLE_LEVEL
