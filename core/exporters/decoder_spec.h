// The sizes of a language model's decoder, read back from its graphs: launchers take numbers where
// a Model has tensors.
#pragma once

#include <optional>

#include "core/model/builders.h"

namespace trainyard {

/// The spec from which build_decoder() makes the same graphs, names of nodes apart; nothing where
/// there is none (an encoder, a convolution network, layers that differ, a part that no spec has).
/// Positions are Alibi where the graphs hold none: it leaves no trace in them.
std::optional<TransformerSpec> decoder_spec(const Model&);

}  // namespace trainyard
