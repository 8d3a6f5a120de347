// This file reads and writes Megatron-LM's --pipeline-model-parallel-layout, which says what each
// virtual stage holds, in order of data flow. E is the embedding, t a decoder layer, m a layer of
// multi-token prediction, L the loss with the head; "|" ends a stage, "x*3" and "(...)*3" repeat,
// commas are ignored. An example is "Et*3|(tt|)*29,m|L".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// A LayoutStage is what one virtual stage holds.
struct LayoutStage {
  bool embedding = false, loss = false;
  int layers = 0;
  int predictions = 0;  // layers of multi-token prediction
  friend bool operator==(const LayoutStage&, const LayoutStage&) = default;
};

/// Returns one entry per virtual stage, chunk 0 of all ranks first. Throws Error{InvalidInput} with
/// column, expected and found unless E is first and occurs once, L is last and occurs once, and
/// there are only the letters above.
std::vector<LayoutStage> parse_megatron_layout(std::string_view, const std::string& source);
std::string to_text(const std::vector<LayoutStage>&);  // the shortest such string

/// Converts the stages to a split of a model's layers. Throws Error{InvalidInput} naming what a
/// split cannot express: predictions for a model that has none, another number of layers than the
/// model's, a stage with nothing.
StageSplit split_of(const std::vector<LayoutStage>&, const Model&, const std::string& source);
/// Returns the layout for a complete plan. Throws Error{Unsupported} for a model without embedding
/// or head, a schedule other than Megatron's 1F1B and interleaved 1F1B, and an edited order.
std::string megatron_layout(const Scenario&);

}  // namespace trainyard
