// A LayerStrategy says what a plan does to one layer and not to others, apart from what each layer
// recomputes.
#pragma once

#include <string>
#include <vector>

#include "core/methods/layers/layout.h"

namespace trainyard {

struct LayerStrategy {
  bool wide = false;   // its products stay in bf16 (core/methods/precision/narrow_products.h)
  bool stays = false;  // its gathered weights stay for backward (core/methods/parallel/zero.cpp)
  bool exchanges = false;  // tensor ranks exchange heads for tokens
                           // (methods/parallel/tensor_parallel)
  // The text of the policy by which its activations leave for the host; "" where no layer's do.
  std::string leaves = {};
  auto operator<=>(const LayerStrategy&) const = default;
};

/// Returns one strategy for each layer of the model. The plan's choices must be legal.
std::vector<LayerStrategy> layer_strategies(const Scenario&);

/// Returns the layout of such a layer, where the plan's is given.
Layout layout_of_layer(const Layout& plan, const LayerStrategy&);

/// Returns whether all layers have one strategy.
bool treats_layers_alike(const Scenario&);

/// Returns the parameters that a method's rewrite of such a layer is given; `own` is where they are
/// kept if they are not the plan's.
const Params& params_of_layer(const Params& plan, const LayerStrategy&, Params& own);

}  // namespace trainyard
