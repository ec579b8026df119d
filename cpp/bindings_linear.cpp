#include "bindings.hpp"

namespace ensample {

void bind_linear(nb::module_&) {}

}  // namespace ensample
