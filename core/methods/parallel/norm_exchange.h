// The exchange in which ranks that have parts of what batch norms normalise average what each
// finds.
#pragma once

#include <string_view>

#include "core/methods/layers/body.h"
#include "core/plan/parallelism.h"

namespace trainyard {

/// Puts the exchange before every op of a batch norm that needs what all ranks of the group have
/// found, forward and backward; its weight pass does not. Context ranks exchange where they have
/// parts of the rows that it normalises. Such a norm reads its input once more forward, and its
/// input and the gradient once more backward.
void exchange_norm_statistics(Body&, const Graph&, const Layout&, Group, std::string_view method);

}  // namespace trainyard
