// The images of a vision-language model are part of its workload: how many a sample has, and how
// large they are, decides how many tokens the tower and the decoder have, and changes no layer.
#pragma once

#include <optional>

#include "core/model/model.h"

namespace trainyard {

struct ModelImages {
  std::int64_t images = 0;  // of one sample
  std::int64_t side = 0;    // of each, in pixels
  std::int64_t unit = 1;    // pixels of which the side is a multiple: whole patches, merged patches
                            // and windows
};

/// Returns none for a model that does not place images in a sequence.
std::optional<ModelImages> images_of(const Model&);
/// Returns the model with other images; 0 leaves a number as it is. A learnt table of positions
/// gets a row for each token. Throws Error{InvalidInput} for a model without images, and for a side
/// that is no multiple of the unit, with the nearest that is.
Model with_images(Model, std::int64_t images, std::int64_t side);

}  // namespace trainyard
