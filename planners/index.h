// Stages, devices and layers are counted in ints here, where -1 may stand for "none"; containers
// are indexed by std::size_t.
#pragma once

#include <cstddef>

namespace trainyard {

/// `i` is at least 0.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace trainyard
