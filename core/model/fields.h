// This file lists what can be read and set of a model, a block or a node, as fields with unit and
// range. It is the property table of the model builder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/edit.h"
#include "core/model/op.h"

namespace trainyard {

enum class FieldKind : std::uint8_t {
  Fact,  // follows from other fields; cannot be set
  Text,
  Number,  // a whole number from low to high
  Flag,    // "yes" or "no"
};

struct ModelField {
  std::string key;    // "heads"
  std::string title;  // "Attention heads"
  std::string value;
  std::string unit;  // "heads"; empty where the field has no unit
  FieldKind kind = FieldKind::Fact;
  std::int64_t low = 0, high = 0;  // Number only
  std::string doc;                 // one line
  friend bool operator==(const ModelField&, const ModelField&) = default;
};

/// Returns the fields of a part, those that can be set first. A part that does not exist has none.
std::vector<ModelField> model_fields(const Model&, ModelPart);
/// Returns the model with that field set to that value and every shape inferred anew. Throws
/// Error{InvalidInput} at the part for an unknown field (with the nearest), a value out of range,
/// or sizes that do not fit each other.
Model with_model_field(const Model&, ModelPart, std::string_view key, std::string_view value);

/// PartCost is what a part holds and computes for one microbatch on one device.
struct PartCost {
  std::int64_t parameters = 0;  // of the whole model; tied parameters count once
  Flops forward{};              // on one device
  Bytes saved{};                // kept on one device for backward, without recomputation
};
/// Returns the cost of each node of a block once, in order; they add up to that of the block.
std::vector<PartCost> node_costs(const Graph&, const Binding&, const Precision&);
/// Returns the cost of a block times its count, of one node once, or of everything for {-1, -1}.
PartCost part_cost(const Model&, ModelPart, const Binding&, const Precision&);

}  // namespace trainyard
