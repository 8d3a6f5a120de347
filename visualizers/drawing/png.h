// An Image as a PNG file and back.
#pragma once

#include <string>

#include "visualizers/drawing/image.h"

namespace trainyard {

/// The bytes of a PNG file. Throws Error{InvalidInput} for an empty image.
std::string to_png(const Image&);
/// Reads what to_png writes and any other PNG as 8-bit RGBA. Throws Error{InvalidInput}; never
/// reads beyond the bytes.
Image read_png(const std::string& bytes);

}  // namespace trainyard
