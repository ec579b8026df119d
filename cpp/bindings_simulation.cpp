#include "bindings.hpp"

namespace ensample {

void bind_simulation(nb::module_&) {}

}  // namespace ensample
