#include "core/methods/precision/tensor_formats.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kFp32Word = "fp32", kBf16Word = "bf16";
constexpr int kWide = 4;  // bytes of an element of state in fp32

DType format_of(std::string_view word) { return parse_dtype(word).value_or(DType::F32); }

// Optimizers that update one element after another and keep a first moment of each, or two.
constexpr std::array<std::string_view, 5> kFirstMoments = {"adam", "adamw", "momentum", "lars",
                                                           "lion"};
constexpr std::array<std::string_view, 2> kSecondMoments = {"adam", "adamw"};
// Those that update one element after another at all.
constexpr std::array<std::string_view, 7> kByElement = {"adam", "adamw", "momentum", "lars",
                                                        "lion", "sgd",   "adagrad"};

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Returns a parameter's word; "" where the plan does not choose the method.
std::string word_of(const Plan& plan, std::string_view param) {
  const Choice* const chosen = find_choice(plan, kTensorFormats);
  return chosen == nullptr
             ? std::string()
             : with_defaults(chosen->params, method(kTensorFormats).params).text(param);
}

std::string precision_of(const Plan& plan) {
  const Choice* const chosen = chosen_on(plan, MethodAxis::Precision);
  return chosen == nullptr ? std::string(kFp32Word) : chosen->method;
}

class Check {
 public:
  Check(const Scenario& scenario, const Params& params)
      : plan_(scenario.plan), params_(params), precision_(precision_of(scenario.plan)) {}

  Diagnostics run() {
    moments();
    main_weights();
    if (params_.text(kReduceFormat) != kAsGradients) messages();
    if (params_.text(kGatherFormat) != kAsWeights) gathers();
    if (params_.text(kBoundaryFormat) != kAsActivations) boundaries();
    return std::move(found_);
  }

 private:
  void refuse(std::string_view param, std::string message, std::string fix) {
    found_.push_back({Diagnostic::Severity::Error,
                      std::move(message),
                      {"plan#/choices/" + std::string(kTensorFormats) + "/" + std::string(param)},
                      std::move(fix)});
  }

  void moments() {
    for (const std::string_view param : {kFirstMoment, kSecondMoment}) {
      if (params_.text(param) == kFp32Word) continue;
      const std::string key = std::string(param) + "-dtype";
      const bool has = param == kFirstMoment ? is_among(kFirstMoments, plan_.optimizer)
                                             : is_among(kSecondMoments, plan_.optimizer);
      if (!has)
        refuse(param,
               key + " is for an optimizer that keeps a " +
                   (param == kFirstMoment ? "first moment of every element, adam, adamw, momentum, "
                                            "lars or lion"
                                          : "second moment of every element, adam or adamw") +
                   ", found optimizer=" + plan_.optimizer,
               key + "=fp32");
      if (precision_.starts_with("bf16-"))
        refuse(param, "precision=" + precision_ + " has its moments in bf16 already",
               key + "=fp32");
      beside_state(param, key + "=fp32");
      if (has_scales(format_of(params_.text(param)))) on_host(param, key + "=fp32");
    }
  }

  // State with scales lies by tensor, and the host keeps as many bytes of every parameter.
  void on_host(std::string_view param, const std::string& fix) {
    const Choice* const offload = find_choice(plan_, "offload");
    if (offload == nullptr) return;
    const std::string host = with_defaults(offload->params, method("offload").params).text("host");
    if (host == "optimizer" || host == "both")
      refuse(param,
             "state with a scale for each block is kept by tensor on the device, found offload=" +
                 host,
             fix);
  }

  // Replicas that average state, or add to it what they have not sent, read it as 4-byte numbers.
  void beside_state(std::string_view param, const std::string& fix) {
    for (const std::string_view other : {"compression", "adasum", "sync", "sparse"})
      if (find_choice(plan_, other) != nullptr)
        refuse(param,
               "state in a format of its own is of dense weights whose replicas add up whole "
               "gradients in "
               "every step, found " +
                   std::string(other) + " beside it",
               fix);
  }

  void main_weights() {
    const std::string fix = "main-weights-dtype=fp32", word = params_.text(kMainWeights);
    if (word == kFp32Word) return;
    const bool lower_half = word == kRemainder;
    const std::string what = lower_half ? "a remainder" : "a main weight in fp16";
    lower_half ? beside_bf16() : beside_wider();
    if (!is_among(kByElement, plan_.optimizer))
      refuse(kMainWeights,
             std::string(lower_half ? "weights of remainders" : "main weights in fp16") +
                 " are updated one element after another, and optimizer=" + plan_.optimizer +
                 " reads whole tensors",
             "optimizer=adamw");
    const Method& schedule = schedule_of(plan_);
    if (schedule.settles != nullptr)
      refuse(kMainWeights,
             what + " belongs to the newest weights, and " + std::string(schedule.name) +
                 " reads older ones while microbatches are under way",
             "schedule=1f1b");
    if (copies(schedule.placement) > 1)
      refuse(kMainWeights,
             what + " belongs to one copy of a stage's weights, and " + std::string(schedule.name) +
                 " has two",
             "schedule=1f1b");
    if (const Choice* const offload = find_choice(plan_, "offload")) {
      const std::string host =
          with_defaults(offload->params, method("offload").params).text("host");
      if (host == "optimizer" || host == "both")
        refuse(kMainWeights,
               "the host that updates weights has whole fp32 ones, found offload=" + host, fix);
    }
    beside_state(kMainWeights, fix);
  }

  void beside_bf16() {
    if (precision_ == kBf16Word) return;
    refuse(kMainWeights,
           "a remainder is what a bf16 weight lacks of its fp32 main weight: expected "
           "precision=bf16, found precision=" +
               precision_,
           precision_ == "fp16" || precision_ == kFp32Word || precision_ == "tf32"
               ? "precision=bf16"
               : "main-weights-dtype=fp32");
  }

  // Weights that are kept in 8 bits are cast from fp32 main weights.
  void beside_wider() {
    if (precision_ == kBf16Word || (precision_ == "fp8" && !has_narrow_weights())) return;
    const std::string found = "found precision=" + precision_;
    refuse(
        kMainWeights,
        precision_ == "fp16"
            ? "main weights in fp16 beside fp16 weights would be these weights once more, " + found
            : "main weights in fp16 are of bf16 weights: expected precision=bf16, or fp8 with "
              "weights kept and gathered in bf16, " +
                  found,
        precision_ == "fp8" ? "main-weights-dtype=fp32" : "precision=bf16");
  }

  bool has_narrow_weights() const {
    const Choice* const chosen = find_choice(plan_, precision_);
    if (chosen == nullptr) return false;
    const std::vector<ParamSpec>& specs = method(precision_).params;
    const Params params = with_defaults(chosen->params, specs);
    return std::any_of(specs.begin(), specs.end(), [&](const ParamSpec& spec) {
      return (spec.name == "weights" && params.text(spec.name) == precision_) ||
             (spec.name == "gather-fp8" && params.flag(spec.name));
    });
  }

  void gathers() {
    const std::string fix = "gather-dtype=weights", word = params_.text(kGatherFormat);
    const Choice* const zero = find_choice(plan_, "zero");
    const std::int64_t stage =
        zero == nullptr ? 0 : with_defaults(zero->params, method("zero").params).integer("stage");
    if (stage < 3)
      refuse(kGatherFormat,
             "gather-dtype is the format of weights that zero=3 gathers wherever they are read, "
             "found zero=" +
                 std::to_string(stage) + ", whose replicas keep what they have gathered",
             "zero=3");
    if (has_narrow_weights())
      refuse(kGatherFormat,
             "precision=" + precision_ +
                 " gathers weights of products in 8 bits already, found gather-dtype=" + word,
             fix);
    if (word == kBf16Word && precision_ != kFp32Word && precision_ != "tf32")
      refuse(kGatherFormat,
             "weights are gathered in the 16 bits that they have already under precision=" +
                 precision_,
             "gather-dtype=int8");
    if (const Method& schedule = schedule_of(plan_); schedule.settles != nullptr)
      refuse(kGatherFormat,
             "gather-dtype is of weights that are whole once a step, and " +
                 std::string(schedule.name) + " updates them while microbatches are under way",
             "schedule=1f1b");
    for (const std::string_view other : {"adasum", "sync"})
      if (find_choice(plan_, other) != nullptr)
        refuse(kGatherFormat,
               "gather-dtype is of one model that replicas divide, found " + std::string(other) +
                   " beside it",
               fix);
  }

  void messages() {
    const std::string fix = "reduce-dtype=gradients";
    for (const std::string_view other : {"compression", "adasum", "sync"})
      if (find_choice(plan_, other) != nullptr)
        refuse(
            kReduceFormat,
            "reduce-dtype is the format of whole gradients that are summed in every step, found " +
                std::string(other) + " beside it",
            fix);
    if (const Method& schedule = schedule_of(plan_); copies(schedule.placement) > 1)
      refuse(kReduceFormat,
             "the two copies of a stage that " + std::string(schedule.name) +
                 " has add up their gradients as they are kept",
             fix);
  }

  void boundaries() {
    if (precision_ != kFp32Word && precision_ != "tf32")
      refuse(kBoundaryFormat,
             "messages between stages are in the 16 bits of their activations already under "
             "precision=" +
                 precision_,
             "boundary-dtype=activations");
    if (plan_.mesh.pp == 1)
      found_.push_back(
          {Diagnostic::Severity::Note,
           "boundary-dtype is the format of messages between stages, and one stage sends none",
           {"plan#/choices/" + std::string(kTensorFormats) + "/" + std::string(kBoundaryFormat)},
           "boundary-dtype=activations"});
  }

  const Plan& plan_;
  const Params& params_;
  std::string precision_;
  Diagnostics found_;
};

// A moment is read and written by an update, and so is a main weight; the bf16 weight beside a
// remainder is read where a whole main weight is not. What has scales is kept by tensor
// (tensor_state.h), as codes that an update touches as often.
void arrange_formats(Layout& layout, const Scenario& scenario, const Params&) {
  const TensorFormats formats = tensor_formats(scenario.plan);
  const auto in_place_of_wide = [&](DType format) {
    if (format == DType::F32) return;
    layout.optimizer_bytes -= kWide - (has_scales(format) ? 0 : bytes_of(format));
    layout.optimizer_touched_bytes -= 2 * (kWide - bytes_of(format));
  };
  in_place_of_wide(formats.first_moment);
  in_place_of_wide(formats.second_moment);
  if (formats.scaled_main) in_place_of_wide(DType::F16);
  if (formats.remainder) {
    in_place_of_wide(DType::BF16);
    layout.optimizer_touched_bytes += bytes_of(DType::BF16);
  }
}

bool gathers_weights(const BodyOp& op) {
  return op.communication && op.collective == CollectiveKind::AllGather && op.pass_name == "zero";
}

void rewrite_messages(Body& body, const Layout& layout, const Scenario& scenario, const Params&) {
  const std::int64_t each = bytes_of(layout.precision.gradient),
                     sent = bytes_of(gradient_message_format(scenario.plan, layout.precision));
  for (BodyOp& op : body.reduce) op.bytes = Bytes{op.bytes.value / each * sent};
  const DType gather = gather_format(scenario.plan, layout.precision);
  if (gather == layout.precision.parameter) return;
  for (auto* ops : {&body.forward, &body.backward, &body.gather})
    for (BodyOp& op : *ops)
      if (gathers_weights(op))
        op.bytes = gather_message_bytes(
            gather, op.bytes.value / bytes_of(layout.precision.parameter),
            op.group == Group::ExpertData ? layout.expert_weight_shards : layout.weight_shards);
}

}  // namespace

TensorFormats tensor_formats(const Plan& plan) {
  const std::string main = word_of(plan, kMainWeights);
  return {format_of(word_of(plan, kFirstMoment)), format_of(word_of(plan, kSecondMoment)),
          main == kRemainder, main == "fp16"};
}

std::vector<DType> scaled_formats(const TensorFormats& formats) {
  std::vector<DType> found;
  if (formats.scaled_main) found.push_back(DType::F16);
  for (const DType moment : {formats.first_moment, formats.second_moment})
    if (has_scales(moment)) found.push_back(moment);
  return found;
}

DType slot_format(const TensorFormats& formats, std::string_view slot) {
  if (slot == "first moment" || slot == "momentum") return formats.first_moment;
  return slot == "second moment" ? formats.second_moment : DType::F32;
}

DType gradient_message_format(const Plan& plan, const Precision& precision) {
  const std::string word = word_of(plan, kReduceFormat);
  return word.empty() || word == kAsGradients ? precision.gradient : format_of(word);
}

DType gather_format(const Plan& plan, const Precision& precision) {
  const std::string word = word_of(plan, kGatherFormat);
  return word.empty() || word == kAsWeights ? precision.parameter : format_of(word);
}

Bytes gather_message_bytes(DType format, std::int64_t elements, std::int64_t shards) {
  const auto of = [&](std::int64_t count) {
    return has_scales(format) ? scaled_bytes(format, 0, count) : Bytes{count * bytes_of(format)};
  };
  const std::int64_t each = (elements + shards - 1) / shards;
  return each == 0 ? Bytes{} : of(each) * (elements / each) + of(elements % each);
}

DType boundary_format(const Plan& plan, const Precision& precision) {
  const std::string word = word_of(plan, kBoundaryFormat);
  return word.empty() || word == kAsActivations ? precision.activation : format_of(word);
}

Bytes boundary_bytes(Bytes tensors, const Plan& plan, const Precision& precision) {
  return Bytes{tensors.value / bytes_of(precision.activation) *
               bytes_of(boundary_format(plan, precision))};
}

Method tensor_formats_method() {
  return {
      .name = kTensorFormats,
      .axis = MethodAxis::Memory,
      .summary = "Gives moments, main weights, gathers and messages formats of their own.",
      .paper = {"DeepSeek-V3 Technical Report", "DeepSeek-AI", "arXiv 2412.19437", 2024},
      .card = {.gains =
                   "moments in bf16 save 2 bytes a parameter each, a first moment in fp8 3, and "
                   "remainders or fp16 of main weights 2; messages in bf16 halve the bytes on "
                   "the wire of fp32 ones, and gathers in 8 bits those of bf16 ones",
               .costs = "a second moment in bf16 stands still where it changes by less than a "
                        "512th of itself: beta2 above 0.996; main weights in fp16 do below a "
                        "4,096th of themselves; sums of gradients, activations, or "
                        "gathered weights that are rounded once more; casts, which no time is "
                        "counted for",
               .legal_when = "optimizers that update element by element (adam, adamw, momentum, "
                             "lars, lion); main weights beside bf16 weights; gathers of zero=3"},
      .file = "core/methods/precision/tensor_formats.cpp",
      .params = {{.name = kFirstMoment,
                  .fallback = std::string(kFp32Word),
                  .doc = "format of the first moment, or of a momentum; fp16 and fp8 have a scale "
                         "for each block",
                  .values = {"fp32", "bf16", "fp16", "fp8"}},
                 {.name = kSecondMoment,
                  .fallback = std::string(kFp32Word),
                  .doc = "format of the second moment; fp16 has a scale for each block",
                  .values = {"fp32", "bf16", "fp16"}},
                 {.name = kMainWeights,
                  .fallback = std::string(kFp32Word),
                  .doc = "main weights: whole in fp32, the 16 bits that bf16 weights lack of "
                         "them, or fp16 with a scale for each block",
                  .values = {"fp32", "remainder", "fp16"}},
                 {.name = kReduceFormat,
                  .fallback = std::string(kAsGradients),
                  .doc = "format in which gradients travel to be summed: their own, or another",
                  .values = {"gradients", "fp32", "bf16"}},
                 {.name = kBoundaryFormat,
                  .fallback = std::string(kAsActivations),
                  .doc = "format of messages between stages: that of activations, or bf16",
                  .values = {"activations", "bf16"}},
                 {.name = kGatherFormat,
                  .fallback = std::string(kAsWeights),
                  .doc = "format in which ZeRO 3 gathers weights: their own, bf16 of fp32 ones, or "
                         "fp8 or int8 with a scale for each block (qwZ)",
                  .values = {"weights", "bf16", "fp8", "int8"}}},
      .check = [](const Scenario& s, const Params& params) { return Check(s, params).run(); },
      .arrange = arrange_formats,
      .rewrite = rewrite_messages,
  };
}

}  // namespace trainyard
