// The vision towers of multimodal configs: the families that are read layer by layer. Others are
// left out, and the import says so.
#pragma once

#include <optional>

#include "core/io/models/hf_fields.h"
#include "core/model/zoo/vision.h"

namespace trainyard {

/// Returns whether configs of that model_type hold a tower that is read.
bool has_hf_vision(std::string_view model_type);
/// Reads the tower of a multimodal config, the root of the file, in front of a decoder of that
/// width. Returns none where the config has no tower, or one that no family here is. What the
/// config leaves out is noted in `root`. Throws Error{InvalidInput} at the key of an impossible
/// value.
std::optional<VisionSpec> hf_vision(HfFields& root, std::int64_t decoder_width);

}  // namespace trainyard
