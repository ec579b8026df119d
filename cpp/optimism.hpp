// Optimism on finitely many arms: argmax_k x_k'theta_hat + beta |x_k|_{V^-1}.
//
// Equal arms have equal scores to the last bit, so that the lowest index wins.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.hpp"
#include "linalg.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// w_k = x_k'V^-1 x_k, for the columns of `by_coordinate` [d, K].
inline void square_widths(ConstMatrix inverse, ConstMatrix by_coordinate, Vector widths) {
  for_each_column_tile<32>(widths.size(), [&]<int N>(std::size_t start) {
    auto total = SimdVector<N>::of(0.0);
    for (std::size_t i = 0; i < inverse.rows; ++i) {
      auto image = SimdVector<N>::of(0.0);
      for (std::size_t j = 0; j < inverse.columns; ++j)
        image += inverse(i, j) * SimdVector<N>::load(&by_coordinate(j, start));
      total += SimdVector<N>::load(&by_coordinate(i, start)) * image;
    }
    total.store(&widths[start]);
  });
}

/// sqrt(w), 0 where rounding left less.
inline double width_of(double square) { return std::sqrt(std::max(square, 0.0)); }

/// argmax_k scores[k] + beta sqrt(w_k); changes `scores`.
inline std::size_t most_promising(Vector scores, ConstVector widths, double beta) {
  for (std::size_t k = 0; k < scores.size(); ++k) scores[k] += beta * width_of(widths[k]);
  return argmax(scores);
}

/// Write theta_hat + beta V^-1 x / |x|_{V^-1}, the optimistic parameter of an arm.
inline void optimistic_theta(ConstMatrix inverse, ConstVector mean, ConstVector x, double beta, Vector theta) {
  Buffer<double> buffer(x.size(), Fill::none);
  const Vector gain{buffer.data(), x.size()};
  sum_rows(gain, inverse, x);
  const double width = width_of(dot(gain, x));
  for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = mean[i];
  if (width > 0.0) axpy(theta, beta / width, gain);
}

}  // namespace ensample::ENSAMPLE_LEVEL
