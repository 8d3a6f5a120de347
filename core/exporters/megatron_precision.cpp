// This file writes the formats in which pretrain_gpt.py trains: fp32, fp16 and bf16, and products
// in 8 and 4 bits with bf16.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/exporters/megatron_plan.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

class Words {
 public:
  Words(const Scenario& s, Limits& limits, const Choice& precision)
      : model_(s.model),
        plan_(s.plan),
        limits_(limits),
        name_(precision.method),
        place_(fmt::format("plan#/choices/{}", name_)),
        params_(params_of(s.plan, precision.method)) {}

  MegatronWords of() {
    if (name_ == "fp32") return {};
    if (name_ == "fp16") return half();
    if (name_ == "bf16") return brain();
    if (name_ == "fp8") return eight();
    if (name_ == "mxfp8") return blocks();
    if (name_ == "nvfp4") return four();
    limits_.refuse(
        place_, fmt::format("it trains in fp32, fp16, bf16, fp8, mxfp8 and nvfp4, found {}", name_),
        "precision=bf16");
    return {};
  }

 private:
  MegatronWords half() {
    MegatronWords to = {"--fp16"};
    const std::int64_t scale = params_.integer("loss-scale");
    if (params_.flag("dynamic")) {
      to.push_back(fmt::format("--initial-loss-scale {}", scale));
      to.push_back(fmt::format("--loss-scale-window {}", params_.integer("window")));
    } else {
      to.push_back(fmt::format("--loss-scale {}", scale));
    }
    if (params_.text("gradient-dtype") == "fp32")
      to.emplace_back("--accumulate-allreduce-grads-in-fp32");
    return to;
  }

  MegatronWords brain() {
    MegatronWords to = {"--bf16"};
    const bool narrow = params_.text("gradient-dtype") == "bf16";
    to.emplace_back(narrow ? "--grad-reduce-in-bf16" : "--accumulate-allreduce-grads-in-fp32");
    const std::string host = params_of(plan_, "offload").text("host");
    if (narrow && host != "none") to.emplace_back("--main-grads-dtype bf16");
    return to;
  }

  MegatronWords eight() {
    MegatronWords to = brain();
    to.emplace_back("--fp8-format hybrid");
    const std::string& scaling = params_.text("scaling");
    if (scaling == "row")
      limits_.refuse(place_, "it has no scale for each row of a tensor", "fp8.scaling=tensor");
    to.push_back(fmt::format("--fp8-recipe {}", scaling == "block" ? "blockwise" : "tensorwise"));
    wide_layers(to);
    if (params_.text("keeps") != "fp8")
      limits_.refuse(place_, "products keep their 8-bit operand for backward there",
                     "fp8.keeps=fp8");
    const bool kept = params_.text("weights") == "fp8";
    if (params_.flag("gather-fp8") && !kept)
      limits_.refuse(place_, "it gathers weights in 8 bits only where it keeps them so",
                     "fp8.gather-fp8=false");
    if (!kept) return to;
    to.emplace_back("--fp8-param-gather");
    if (params_of(plan_, "zero").integer("stage") == 0)
      limits_.refuse(place_, "weights are kept in 8 bits beside a distributed optimizer only",
                     "zero=1");
    if (params_of(plan_, "offload").text("host") != "none")
      limits_.refuse(place_, "weights kept in 8 bits are not updated by the host",
                     "fp8.weights=bf16");
    return to;
  }

  MegatronWords blocks() {
    MegatronWords to = brain();
    to.emplace_back("--fp8-format e4m3");
    to.emplace_back("--fp8-recipe mxfp8");
    wide_layers(to);
    if (params_.text("weights") != "bf16")
      limits_.refuse(place_,
                     "weights kept in mxfp8 share a buffer with gradients there, which a plan does "
                     "not price",
                     "mxfp8.weights=bf16");
    return to;
  }

  MegatronWords four() {
    MegatronWords to = brain();
    to.emplace_back("--fp4-format e2m1");
    wide_layers(to);
    return to;
  }

  // The first and the last layers may stay in bf16, and no others.
  void wide_layers(MegatronWords& to) {
    const LayerRanges ranges = parse_layer_ranges(params_.text(kWideLayers));
    if (ranges.empty()) return;
    const std::vector<bool> wide = in_ranges(ranges, layer_count(model_));
    const auto start = std::find(wide.begin(), wide.end(), false) - wide.begin(),
               end = std::find(wide.rbegin(), wide.rend(), false) - wide.rbegin();
    const auto all = static_cast<std::ptrdiff_t>(wide.size());
    if (start == all)
      return limits_.refuse(place_, "all layers stay in bf16, which it has a precision for",
                            "precision=bf16");
    if (std::count(wide.begin(), wide.end(), true) != start + end)
      return limits_.refuse(place_,
                            "it leaves the first and the last layers in bf16, and no others",
                            fmt::format("{}.{}=first:1,last:1", name_, kWideLayers));
    to.emplace_back("--first-last-layers-bf16");
    to.push_back(fmt::format("--num-layers-at-start-in-bf16 {}", start));
    to.push_back(fmt::format("--num-layers-at-end-in-bf16 {}", end));
  }

  const Model& model_;
  const Plan& plan_;
  Limits& limits_;
  std::string name_, place_;
  Params params_;
};

// State in other formats is that of its precision-aware optimizer, Transformer Engine's FusedAdam:
// of the main weights beside bf16 ones it stores what these lack.
MegatronWords state_formats(const Plan& plan, const Choice& precision, Limits& limits) {
  const TensorFormats formats = tensor_formats(plan);
  if (!formats.of_state()) return {};
  const std::string place = fmt::format("plan#/choices/{}", kTensorFormats);
  const bool brain = precision.method == "bf16";
  if (!brain && precision.method != "fp16")
    limits.refuse(place, "its precision-aware optimizer has main weights beside bf16 or fp16 ones",
                  "precision=bf16");
  else if (brain && !formats.remainder)
    limits.refuse(fmt::format("{}/{}", place, kMainWeights),
                  "beside bf16 weights its precision-aware optimizer stores of main weights the 16 "
                  "bits that they lack",
                  "main-weights-dtype=remainder");
  if (plan.optimizer != "adam" && plan.optimizer != "adamw")
    limits.refuse("plan#/optimizer", "its precision-aware optimizer is Adam", "optimizer=adamw");
  if (params_of(plan, "zero").integer("stage") != 1)
    limits.refuse(place, "its precision-aware optimizer is the distributed one", "zero=1");
  if (params_of(plan, "offload").text("host") != "none")
    limits.refuse(place, "state that the host keeps is in fp32", "offload=none");
  if (has_scales(formats.first_moment) || has_scales(formats.second_moment))
    limits.warn(place,
                "a moment in fp16 or fp8 has one scale there for what a rank has of a tensor, "
                "and in the plan one for each block");
  const bool narrow = brain && params_of(plan, "bf16").text("gradient-dtype") == "bf16";
  return {"--use-precision-aware-optimizer",
          fmt::format("--main-grads-dtype {}", narrow ? "bf16" : "fp32"),
          "--main-params-dtype fp32",
          fmt::format("--exp-avg-dtype {}", to_string(formats.first_moment)),
          fmt::format("--exp-avg-sq-dtype {}", to_string(formats.second_moment))};
}

}  // namespace

MegatronWords megatron_precision(const Scenario& s, Limits& limits) {
  const Choice* precision = chosen_on(s.plan, MethodAxis::Precision);
  if (precision == nullptr) return {};
  MegatronWords to = Words(s, limits, *precision).of();
  for (std::string& word : state_formats(s.plan, *precision, limits)) to.push_back(std::move(word));
  return to;
}

}  // namespace trainyard
