// This file reads the sizes of a language model's decoder back from its graphs, because launchers
// take numbers where a Model has tensors.
#pragma once

#include <optional>

#include "core/model/zoo/builders.h"

namespace trainyard {

/// Returns the spec from which build_decoder() makes the same graphs apart from the names of nodes;
/// nothing where there is none (an encoder, a convolutional network, layers that differ, a part
/// that no spec has). Positions are Alibi where the graphs have none, because Alibi adds nothing to
/// them.
std::optional<TransformerSpec> decoder_spec(const Model&);

}  // namespace trainyard
