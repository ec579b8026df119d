#include "bindings.hpp"

namespace ensample {

void bind_glm(nb::module_&) {}

}  // namespace ensample
