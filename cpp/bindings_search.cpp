#include "bindings.hpp"

namespace ensample {

void bind_search(nb::module_&) {}

}  // namespace ensample
