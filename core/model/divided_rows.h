// Images whose rows ranks divide: rank i of n has the i-th part of the rows of every image, from
// the model's input to the pooling that takes the mean of all. A convolution or pooling whose
// windows reach beyond a part reads an image with the neighbours' rows around it (the op
// halo_rows), which is put before it. Parts are equal, and windows of a part make a part of the
// result. Where they would not, ranks join their rows before, and compute that and all behind it
// whole.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/model.h"

namespace trainyard {

/// Returns whether the model reads images whose rows can be divided: [batch, channels, height,
/// width] at its input, and no sequence.
bool has_divisible_rows(const Model&);
/// Returns whether with_divided_rows() made the model.
bool has_divided_rows(const Model&);
/// Returns the model for so many ranks that divide rows; on one rank it computes what the model
/// itself does.
Model with_divided_rows(Model, int ranks);
/// Returns the model that with_divided_rows() was given.
Model with_whole_rows(Model);

/// Returns the place of the node among those of the graph that with_whole_rows() leaves, and how
/// many these are: what is drawn at random for a node is the same on whatever number of ranks.
struct NodePlace {
  std::uint64_t place, of;
};
NodePlace place_as_given(const Graph&, NodeId);

/// Returns whether ranks each have a part of the rows of the image.
bool has_part_of_rows(const Tensor&, const Binding&);

/// Returns why so many ranks cannot divide the rows of the model; empty if they can.
std::string undivided_rows(const Model&, int ranks);

}  // namespace trainyard
