#include "core/methods/settings/memory_settings.h"

#include <algorithm>
#include <optional>

#include "core/methods/memory/layer_policy.h"
#include "core/methods/memory/offload.h"
#include "core/methods/settings/setting_values.h"

namespace trainyard {
namespace {

// Reads "4,4,2,0": the number of layers of each virtual stage that recompute in full.
RecomputePolicies full_blocks(std::string_view counts, const Place& place) {
  RecomputePolicies policies;
  for (std::string_view rest = counts;;) {
    const std::size_t comma = rest.find(',');
    const auto count = static_cast<int>(whole_number(rest.substr(0, comma), 0, 1'000'000, place));
    StagePolicies stage;
    if (count > 0) stage.push_back({{LayerPolicy::Kind::Full}, count});
    stage.push_back({});
    policies.stages.push_back(std::move(stage));
    if (comma == std::string_view::npos) return policies;
    rest.remove_prefix(comma + 1);
    if (policies.stages.size() > 100'000) refuse_value(place, "at most 100000 stages", "more");
  }
}

void set_policies(Plan& plan, const RecomputePolicies& policies) {
  choice(plan, "recompute").params.set("policy", to_text(policies));
  choice(plan, "recompute").params.set("blocks", std::int64_t{0});
}

void set_recompute(Plan& plan, std::string_view value, const Place& place) {
  constexpr std::string_view kBlocks = "blocks=";
  if (value.substr(0, kBlocks.size()) == kBlocks) {
    const std::string_view counts = value.substr(kBlocks.size());
    if (counts.find(',') != std::string_view::npos)
      return set_policies(plan, full_blocks(counts, place));
    whole_number(counts, 1, 1'000'000, place);
    set_param(plan, "recompute", "policy", "blocks", place);
    return set_param(plan, "recompute", "blocks", counts, place);
  }
  if (value == "optimal" || value.substr(0, 8) == "optimal:")
    throw Error(Error::Kind::InvalidInput,
                "expected a plan's own recomputation, found \"" + std::string(value.substr(0, 80)) +
                    "\", which is chosen when a model and a cluster are opened with --set "
                    "recompute=optimal",
                place);
  const std::vector<std::string_view> words = {
      "none",    "selective",       "op",
      "full",    "blocks=<n>",      "keep=<nodes>",
      "optimal", "optimal:<bytes>", "runs such as full*4,none"};
  const bool legal = std::find(words.begin(), words.begin() + 4, value) != words.begin() + 4;
  if (!legal && value.find_first_of("=*,/") == std::string_view::npos)
    expect_word(value, words, place);
  set_policies(plan, parse_policies(value, place));
}

std::string read_recompute(const Plan& plan) {
  const std::string policy = read_param(plan, "recompute", "policy");
  return policy == "blocks" ? "blocks=" + read_param(plan, "recompute", "blocks") : policy;
}

constexpr std::string_view kOnDevices = "none";

void set_tier(Plan& plan, std::string_view value, const Place& place) {
  set_param(plan, "offload", "tier", value, place);
}

void set_layers(Plan& plan, std::string_view value, const Place& place) {
  if (value.find_first_of("=*,/") == std::string_view::npos)
    expect_word(value,
                {"together", "all", "convolutions", kFewestLayers, "none", "made=<nodes>",
                 "runs such as all*4,none"},
                place);
  set_param(plan, "offload", kOffloadedLayers, value, place);
}

// The tier is of optimizer state: of a plan that moves activations alone, it is said where it is
// wrong.
std::string read_tier(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, "offload");
  if (chosen == nullptr) return "";
  const Params params = with_defaults(chosen->params, method("offload").params);
  const std::string& tier = params.text("tier");
  return params.text("host") == "activations" && tier == "host" ? "" : tier;
}

// The choice of layers whose activations leave is said of plans that move activations, or where it
// is wrong.
std::string read_layers(const Plan& plan, std::string_view param) {
  const Choice* const chosen = find_choice(plan, "offload");
  if (chosen == nullptr) return "";
  const Params params = with_defaults(chosen->params, method("offload").params);
  const bool together = params.text(kOffloadedLayers) == "together";
  const std::string text = read_param(plan, "offload", param);
  const bool says_nothing =
      param == kOffloadedLayers ? params.text("host") == "optimizer" : text == "1";
  return together && says_nothing ? "" : text;
}

bool has_gradient_dtype(std::string_view precision) {
  const std::vector<ParamSpec>& params = method(precision).params;
  return std::any_of(params.begin(), params.end(),
                     [](const ParamSpec& s) { return s.name == "gradient-dtype"; });
}

void set_precision(Plan& plan, std::string_view value, const Place& place) {
  std::string gradient;
  if (const Choice* before = chosen_on(plan, MethodAxis::Precision);
      before != nullptr && before->params.has("gradient-dtype"))
    gradient = before->params.text("gradient-dtype");
  choose_on(plan, MethodAxis::Precision, value, place);
  if (gradient == "fp32" && has_gradient_dtype(value))
    choice(plan, value).params.set("gradient-dtype", gradient);
}

void set_gradient_dtype(Plan& plan, std::string_view value, const Place& place) {
  const Choice* precision = chosen_on(plan, MethodAxis::Precision);
  const std::string name = precision == nullptr ? "bf16" : precision->method;
  if (!has_gradient_dtype(name))
    refuse_value(place, "precision bf16, fp16, fp8, mxfp8, nvfp4 or vs-quant beside gradient-dtype",
                 "precision=" + name);
  set_param(plan, name, "gradient-dtype", value, place);
}

constexpr std::string_view kFormatsName = "tensor-formats";

// Sums would need a scale that all ranks agree on before any of them knows its own part of one.
// That small second moments in fp8 become 0 is measured in tests/training/scaled_numbers_test.cpp.
void refuse_format(std::string_view param, std::string_view value, const Place& place) {
  const std::optional<DType> format = parse_dtype(value);
  if (param == "second-moment" && (format == DType::F8 || format == DType::I8))
    throw Error(
        Error::Kind::InvalidInput,
        "expected fp32, bf16 or fp16, found \"" + std::string(value) +
            "\", in which second moments far below the largest of their block become 0, and the "
            "weights that are divided by them run away; optimizer=adamw-8bit has codes of 8 "
            "bits that reach over seven decades",
        place);
  if ((param == "reduce" || param == "boundary") && (format == DType::F8 || format == DType::F16))
    throw Error(Error::Kind::InvalidInput,
                "expected a format without scales, found \"" + std::string(value) +
                    (param == "reduce"
                         ? "\", whose sums need a scale that all ranks know before they add up"
                         : "\", in which activations need a scale beside every message") +
                    "; bf16 needs none",
                place);
}

// Frameworks spell formats as float32 and bfloat16 too. A plan whose formats are all those that its
// precision decides does not mention them.
void set_format(Plan& plan, std::string_view param, std::string_view value, const Place& place) {
  const std::optional<DType> format = parse_dtype(value);
  refuse_format(param, value, place);
  set_param(plan, kFormatsName, param, format ? to_string(*format) : value, place);
  const std::vector<ParamSpec>& specs = method(kFormatsName).params;
  const Params params = with_defaults(find_choice(plan, kFormatsName)->params, specs);
  if (params == with_defaults({}, specs)) remove_choice(plan, kFormatsName);
}

void set_loss_scale(Plan& plan, std::string_view value, const Place& place) {
  const Choice* precision = chosen_on(plan, MethodAxis::Precision);
  if (precision == nullptr || precision->method != "fp16")
    refuse_value(place, "precision=fp16 before loss-scale",
                 precision == nullptr ? "no precision" : "precision=" + precision->method);
  if (value == "dynamic") return set_param(plan, "fp16", "dynamic", "true", place);
  set_param(plan, "fp16", "loss-scale", value, place);
  set_param(plan, "fp16", "dynamic", "false", place);
}

std::string read_loss_scale(const Plan& plan) {
  if (find_choice(plan, "fp16") == nullptr) return "";
  return read_param(plan, "fp16", "dynamic") == "true" ? "dynamic"
                                                       : read_param(plan, "fp16", "loss-scale");
}

}  // namespace

std::vector<Setting> memory_settings() {
  using P = Plan;
  using V = std::string_view;
  using L = const Place;
  return {
      {"sequence-parallel",
       {"sp"},
       "divide norms and residuals over tensor ranks",
       {"on", "off"},
       [](P& p, V v, L& l) {
         choice(p, "tensor-parallel").params.set("sequence-parallel", on_off(v, l));
       },
       [](const P& p) {
         const std::string text = read_param(p, "tensor-parallel", "sequence-parallel");
         return text.empty() ? text : on_off(text == "true");
       }},
      {"recompute",
       {"recompute-granularity", "activation-checkpointing", "activation-checkpoint.mode"},
       "what forward keeps: none, selective, op, full or blocks=<n> of each stage done again, "
       "keep=<nodes> kept; by layer full*4,none, by stage full*4,none/none; optimal: the mix that "
       "fits in least time, optimal:20GiB within that much of each device",
       {"none", "selective", "op", "full"},
       set_recompute,
       read_recompute},
      {"offload",
       {"cpu-offload", "offload-optimizer", "offload-to-host"},
       "what the host keeps: optimizer state and the update of weights, activations until their "
       "backward, or both",
       {kOnDevices, "optimizer", "activations", "both"},
       [](P& p, V v, L& l) { set_optional(p, "offload", "host", v, kOnDevices, l); },
       [](const P& p) { return read_optional(p, "offload", "host", kOnDevices); }},
      {"offload-tier",
       {"offload-optimizer-device"},
       "where offloaded optimizer state lives: host memory, or the node's NVMe, through buffers in "
       "host memory",
       {"host", "nvme"},
       set_tier,
       read_tier},
      {"offload-layers",
       {},
       "what offloaded activations leave the device layer by layer: all, what convolutions read, "
       "made=<nodes>; by layer all*4,none, by stage all*4,none/none; dynamic: the fewest layers "
       "with which the plan fits; together: whole stages instead",
       {"together", "all", "convolutions"},
       [](P& p, V v, L& l) { set_layers(p, v, l); },
       [](const P& p) { return read_layers(p, kOffloadedLayers); }},
      {"offload-in-flight",
       {},
       "layers whose offloaded activations are under way at once, at most",
       {},
       [](P& p, V v, L& l) { set_param(p, "offload", "in-flight", v, l); },
       [](const P& p) { return read_layers(p, "in-flight"); }},
      {"precision",
       {"dtype", "mixed-precision"},
       "number format of weights and products",
       names_on(MethodAxis::Precision),
       set_precision,
       [](const P& p) {
         const Choice* c = chosen_on(p, MethodAxis::Precision);
         return c == nullptr ? std::string() : c->method;
       }},
      {"gradient-dtype",
       {"grad-dtype", "grad-reduce-dtype", "main-grads-dtype"},
       "format of gradients while they add up and are reduced",
       {"fp32", "bf16", "fp16"},
       set_gradient_dtype,
       [](const P& p) {
         const Choice* c = chosen_on(p, MethodAxis::Precision);
         return c == nullptr || !has_gradient_dtype(c->method)
                    ? std::string()
                    : read_param(p, c->method, "gradient-dtype");
       }},
      {"reduce-dtype",
       {"communication-data-type", "mixed-precision-reduce"},
       "format in which gradients travel to be summed: their own, or another",
       {"gradients", "fp32", "bf16"},
       [](P& p, V v, L& l) { set_format(p, "reduce", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "reduce", "gradients"); }},
      {"boundary-dtype",
       {"pipeline-dtype"},
       "format of messages between stages: that of activations, or bf16 of fp32 ones",
       {"activations", "bf16"},
       [](P& p, V v, L& l) { set_format(p, "boundary", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "boundary", "activations"); }},
      {"gather-dtype",
       {"weight-gather-dtype"},
       "format in which ZeRO 3 gathers weights: their own, bf16 of fp32 ones, or fp8 or int8 with "
       "a scale for each block",
       {"weights", "bf16", "fp8", "int8"},
       [](P& p, V v, L& l) { set_format(p, "gather", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "gather", "weights"); }},
      {"first-moment-dtype",
       {"exp-avg-dtype"},
       "format of an optimizer's first moment, or its momentum: fp16 and fp8 have a scale for each "
       "block",
       {"fp32", "bf16", "fp16", "fp8"},
       [](P& p, V v, L& l) { set_format(p, "first-moment", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "first-moment", "fp32"); }},
      {"second-moment-dtype",
       {"exp-avg-sq-dtype"},
       "format of an optimizer's second moment: fp16 has a scale for each block",
       {"fp32", "bf16", "fp16"},
       [](P& p, V v, L& l) { set_format(p, "second-moment", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "second-moment", "fp32"); }},
      {"main-weights-dtype",
       {"main-params-dtype"},
       "main weights beside bf16 ones: whole in fp32, the 16 bits that bf16 lacks of them, or fp16 "
       "with a scale for each block",
       {"fp32", "remainder", "fp16"},
       [](P& p, V v, L& l) { set_format(p, "main-weights", v, l); },
       [](const P& p) { return read_optional(p, kFormatsName, "main-weights", "fp32"); }},
      {"loss-scale",
       {"initial-loss-scale", "fp16.loss-scale"},
       "fp16: dynamic, or a power of two",
       {},
       set_loss_scale,
       read_loss_scale},
  };
}

}  // namespace trainyard
