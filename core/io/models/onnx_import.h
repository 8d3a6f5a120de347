// An ONNX graph as a Model: convolutions, products, norms, activations, poolings and sums, in
// blocks cut where one tensor crosses, so that a pipeline can divide them.
#pragma once

#include <string>
#include <string_view>

#include "core/io/models/hf_config_import.h"

namespace trainyard {

/// At most so many bytes are read; external weights never are.
inline constexpr Bytes kOnnxBytes = 1024_MiB;

/// bytes: the file; place: its path, after which the model is named. The first dimension of the
/// first input is the batch. What the graph asks for that no op here has is passed through where it
/// keeps its input's shape and listed in the report; where it does not, the import ends there with
/// a sentence. Model::assumed says what is priced as something near, and the count of everything
/// the file holds where that differs. Throws Error{InvalidInput} at "PLACE" or "PLACE#node" for
/// bytes that are no ONNX model, sizes that contradict each other and graphs without a layer.
ImportedModel import_onnx(std::string_view bytes, const std::string& place);

}  // namespace trainyard
