// What can be read and set of a model, a block or a node, as fields with unit and range: the
// property table of the model builder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/edit.h"
#include "core/model/op.h"

namespace trainyard {

enum class FieldKind : std::uint8_t {
  Fact,  // follows from the others; cannot be set
  Text,
  Number,  // a whole number from low to high
  Flag,    // "yes" or "no"
};

struct ModelField {
  std::string key;    // "heads"
  std::string title;  // "Attention heads"
  std::string value;
  std::string unit;  // "heads"; empty where it has none
  FieldKind kind = FieldKind::Fact;
  std::int64_t low = 0, high = 0;  // Number only
  std::string doc;                 // one line
  friend bool operator==(const ModelField&, const ModelField&) = default;
};

/// The fields of a part, those that can be set first. A part that is not there has none.
std::vector<ModelField> model_fields(const Model&, ModelPart);
/// The model with that field at that value, every shape inferred anew. Throws Error{InvalidInput}
/// at the part: no such field (nearest), a value out of range, sizes that do not go together.
Model with_model_field(const Model&, ModelPart, std::string_view key, std::string_view value);

/// What a part holds and does for one microbatch on one device.
struct PartCost {
  std::int64_t parameters = 0;  // of the whole model, tied ones once
  Flops forward{};              // on one device
  Bytes saved{};                // kept on one device for backward, without recomputation
};
/// Of a block, times its count, or of one node, once; of everything for {-1, -1}.
PartCost part_cost(const Model&, ModelPart, const Binding&, const Precision&);

}  // namespace trainyard
