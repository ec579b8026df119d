#include "bindings.hpp"

namespace ensample {
namespace {

using Rows = Array2<const double>;
using Codes = Array1<std::uint8_t>;
using ConstCodes = Array1<const std::uint8_t>;
using Theta = Array1<const double>;

constexpr std::size_t table_rows = 4;

/// Bytes of codes of so many arms: two features a byte, and one byte for the radius.
std::size_t size_of_codes(const Rows& rows) {
  const std::size_t tiles = (rows.shape[0] + search_tile - 1) / search_tile;
  return tiles * ((rows.shape[1] + 1) / 2 + 1) * search_tile;
}

void require_arms(const Rows& rows, const char* name) {
  require(rows.shape[0] > 0 && rows.shape[1] > 0, name, "at least one row and one column");
}

void require_encoded(const Rows& rows, const Rows& table, std::size_t codes) {
  require_arms(rows, "rows");
  require(table.shape[0] == table_rows && table.shape[1] == rows.shape[1], "table", "the shape [4, columns of `rows`]");
  require(codes == size_of_codes(rows), "codes", "the size that `size_of_codes` returns");
}

std::size_t greedy_arm(Theta theta, Rows by_coordinate) {
  require_arms(by_coordinate, "by_coordinate");
  require(theta.shape[0] == by_coordinate.shape[0], "theta", "one entry for each row of `by_coordinate`");
  const KernelScope scope;
  return kernels->search.greedy_arm(span_of(theta), view_of(by_coordinate));
}

void greedy_arms(Rows thetas, Rows by_coordinate, Array1<std::int64_t> chosen, Array1<double> scores) {
  require_arms(by_coordinate, "by_coordinate");
  require(thetas.shape[0] == by_coordinate.shape[0], "thetas", "as many rows as `by_coordinate`");
  require(chosen.shape[0] == thetas.shape[1], "chosen", "one entry for each column of `thetas`");
  require(scores.shape[0] == thetas.shape[1], "scores", "one entry for each column of `thetas`");
  const KernelScope scope;
  kernels->search.greedy_arms(view_of(thetas), view_of(by_coordinate), span_of(chosen), span_of(scores));
}

std::size_t scan_arms(Rows rows, Theta theta) {
  require_arms(rows, "rows");
  require(theta.shape[0] == rows.shape[1], "theta", "one entry for each column of `rows`");
  const KernelScope scope;
  return kernels->search.scan_arms(view_of(rows), span_of(theta));
}

void encode_arms(Rows rows, Array2<double> table, Codes codes) {
  require_encoded(rows, {table.data, {table.shape[0], table.shape[1]}}, codes.size());
  const KernelScope scope;
  kernels->search.encode_arms(view_of(rows), view_of(table), span_of(codes));
}

std::size_t find_best_arm(Rows rows, Rows table, ConstCodes codes, Theta theta) {
  require_encoded(rows, table, codes.size());
  require(theta.shape[0] == rows.shape[1], "theta", "one entry for each column of `rows`");
  const KernelScope scope;
  return kernels->search.find_best_arm(view_of(rows), view_of(table), codes.data, span_of(theta));
}

void find_best_arms(Rows rows, Rows table, ConstCodes codes, Rows thetas, Array1<std::int64_t> chosen, Array1<double> scores) {
  require_encoded(rows, table, codes.size());
  require(thetas.shape[0] == rows.shape[1], "thetas", "one row for each column of `rows`");
  require(chosen.shape[0] == thetas.shape[1], "chosen", "one entry for each column of `thetas`");
  require(scores.shape[0] == thetas.shape[1], "scores", "one entry for each column of `thetas`");
  const KernelScope scope;
  kernels->search.find_best_arms(view_of(rows), view_of(table), codes.data, view_of(thetas), span_of(chosen), span_of(scores));
}

}  // namespace

void bind_search(nb::module_& module) {
  module.def("greedy_arm", &greedy_arm, "theta"_a, "by_coordinate"_a,
             "Return argmax_k x_k'theta, the lowest index on ties; `by_coordinate` is [d, K].");
  module.def("greedy_arms", &greedy_arms, "thetas"_a, "by_coordinate"_a, "chosen"_a, "scores"_a,
             "Write the greedy arm of each column of `thetas` [d, m], and its score.");
  module.def("scan_arms", &scan_arms, "rows"_a, "theta"_a, "Return argmax_k x_k'theta of all rows, the lowest index on ties.");
  module.def("size_of_codes", [](Rows rows) { return size_of_codes(rows); }, "rows"_a, "Return the number of bytes of codes.");
  module.def("encode_arms", &encode_arms, "rows"_a, "table"_a, "codes"_a,
             "Quantise features: write `table` [4, d] and `codes`, which `find_best_arm` needs.");
  module.def("find_best_arm", &find_best_arm, "rows"_a, "table"_a, "codes"_a, "theta"_a,
             "Return argmax_k x_k'theta, the lowest index on ties, scoring only arms whose codes allow it.");
  module.def("find_best_arms", &find_best_arms, "rows"_a, "table"_a, "codes"_a, "thetas"_a, "chosen"_a, "scores"_a,
             "Write the best arm of each column of `thetas` [d, m], and its score.");
  module.attr("MAX_SEARCH_DIM") = max_search_dim;
}

}  // namespace ensample
