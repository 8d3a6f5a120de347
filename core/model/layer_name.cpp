#include "core/model/layer_name.h"

namespace trainyard {

std::string layer_name(const Model& model, std::size_t layer) {
  std::size_t first = 0;
  for (const Block& block : model.blocks) {
    const auto count = static_cast<std::size_t>(block.count);
    if (layer < first + count)
      return count > 1 ? block.name + " " + std::to_string(layer - first) : block.name;
    first += count;
  }
  return "layer " + std::to_string(layer);
}

}  // namespace trainyard
