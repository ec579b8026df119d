#include "bindings.hpp"

namespace ensample {

void bind_networks(nb::module_&) {}

}  // namespace ensample
