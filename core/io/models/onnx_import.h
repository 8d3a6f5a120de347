// This file reads an ONNX graph as a Model: convolutions, products, norms, activations, poolings
// and sums. It cuts the graph into blocks where only one tensor crosses, so that a pipeline can
// divide them.
#pragma once

#include <string>
#include <string_view>

#include "core/io/models/hf_config_import.h"

namespace trainyard {

/// bytes is the file's content; place is its path, after which the model is named. The first
/// dimension of the first input is the batch. An operator without an equivalent here is skipped and
/// reported if it keeps its input's shape; otherwise the import fails with a message.
/// Model::assumed lists operators that are priced as a similar op, and the count of everything in
/// the file where that differs. Throws Error{InvalidInput} at "PLACE" or "PLACE#node" for bytes
/// that are no ONNX model, sizes that contradict each other and graphs without a layer.
ImportedModel import_onnx(std::string_view bytes, const std::string& place);

}  // namespace trainyard
