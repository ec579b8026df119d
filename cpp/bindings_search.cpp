#include "bindings.hpp"

namespace ensample {
namespace {

using Codes = std::span<std::uint8_t>;
using ConstCodes = std::span<const std::uint8_t>;

/// Bytes of codes of so many arms: two features a byte, and one byte for the radius.
std::size_t size_of_codes(ConstMatrix rows) {
  const std::size_t tiles = (rows.rows + search_tile - 1) / search_tile;
  return tiles * ((rows.columns + 1) / 2 + 1) * search_tile;
}

void require_items(ConstMatrix matrix, const char* name) {
  require(matrix.rows > 0 && matrix.columns > 0, name, "at least one row and one column");
}

void require_encoded(ConstMatrix rows, ConstMatrix table, ConstCodes codes) {
  require_items(rows, "rows");
  require(table.rows == 4 && table.columns == rows.columns, "table", "the shape [4, columns of `rows`]");
  require(codes.size() == size_of_codes(rows), "codes", "the size that `size_of_codes` returns");
}

/// Require what is written for each column of `thetas`.
void require_results(ConstMatrix thetas, Ints chosen, Vector scores) {
  require(chosen.size() == thetas.columns, "chosen", "one entry for each column of `thetas`");
  require(scores.size() == thetas.columns, "scores", "one entry for each column of `thetas`");
}

std::size_t greedy_arm(ConstVector theta, ConstMatrix by_coordinate) {
  require_items(by_coordinate, "by_coordinate");
  require(theta.size() == by_coordinate.rows, "theta", "one entry for each row of `by_coordinate`");
  return run(kernels->search.greedy_arm, theta, by_coordinate);
}

void greedy_arms(ConstMatrix thetas, ConstMatrix by_coordinate, Ints chosen, Vector scores) {
  require_items(by_coordinate, "by_coordinate");
  require(thetas.rows == by_coordinate.rows, "thetas", "as many rows as `by_coordinate`");
  require_results(thetas, chosen, scores);
  run(kernels->search.greedy_arms, thetas, by_coordinate, chosen, scores);
}

std::size_t scan_arms(ConstMatrix rows, ConstVector theta) {
  require_items(rows, "rows");
  require(theta.size() == rows.columns, "theta", "one entry for each column of `rows`");
  return run(kernels->search.scan_arms, rows, theta);
}

void encode_arms(ConstMatrix rows, Matrix table, Codes codes) {
  require_encoded(rows, table, codes);
  run(kernels->search.encode_arms, rows, table, codes);
}

std::size_t find_best_arm(ConstMatrix rows, ConstMatrix table, ConstCodes codes, ConstVector theta) {
  require_encoded(rows, table, codes);
  require(theta.size() == rows.columns, "theta", "one entry for each column of `rows`");
  return run(kernels->search.find_best_arm, rows, table, codes.data(), theta);
}

void find_best_arms(ConstMatrix rows, ConstMatrix table, ConstCodes codes, ConstMatrix thetas, Ints chosen, Vector scores) {
  require_encoded(rows, table, codes);
  require(thetas.rows == rows.columns, "thetas", "one row for each column of `rows`");
  require_results(thetas, chosen, scores);
  run(kernels->search.find_best_arms, rows, table, codes.data(), thetas, chosen, scores);
}

}  // namespace

void bind_search(nb::module_& module) {
  module.def("greedy_arm", &greedy_arm, "theta"_a, "by_coordinate"_a,
             "Return argmax_k x_k'theta, the lowest index on ties; `by_coordinate` is [d, K].");
  module.def("greedy_arms", &greedy_arms, "thetas"_a, "by_coordinate"_a, "chosen"_a, "scores"_a,
             "Write the greedy arm of each column of `thetas` [d, m], and its score.");
  module.def("scan_arms", &scan_arms, "rows"_a, "theta"_a, "Return argmax_k x_k'theta of all rows, the lowest index on ties.");
  module.def("size_of_codes", &size_of_codes, "rows"_a, "Return the number of bytes of codes.");
  module.def("encode_arms", &encode_arms, "rows"_a, "table"_a, "codes"_a,
             "Quantise features: write `table` [4, d] and `codes`, which `find_best_arm` needs.");
  module.def("find_best_arm", &find_best_arm, "rows"_a, "table"_a, "codes"_a, "theta"_a,
             "Return argmax_k x_k'theta, the lowest index on ties, scoring only arms whose codes allow it.");
  module.def("find_best_arms", &find_best_arms, "rows"_a, "table"_a, "codes"_a, "thetas"_a, "chosen"_a, "scores"_a,
             "Write the best arm of each column of `thetas` [d, m], and its score.");
  module.attr("MAX_SEARCH_DIM") = max_search_dim;
}

}  // namespace ensample
