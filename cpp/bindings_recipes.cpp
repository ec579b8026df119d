#include "bindings.hpp"

namespace ensample {

void bind_recipes(nb::module_&) {}

}  // namespace ensample
