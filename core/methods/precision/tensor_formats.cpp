#include "core/methods/precision/tensor_formats.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kFp32Word = "fp32", kBf16Word = "bf16";
constexpr int kSaved = 2;  // bytes of an element in bf16, or of a remainder, in place of fp32

DType format_of(std::string_view word) { return word == kBf16Word ? DType::BF16 : DType::F32; }

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
    if (params_.text(kMainWeights) == kRemainder) remainder();
    if (params_.text(kReduceFormat) != kAsGradients) messages();
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
    }
  }

  // Replicas that average state, or add to it what they have not sent, read it as 4-byte numbers.
  void beside_state(std::string_view param, const std::string& fix) {
    for (const std::string_view other : {"compression", "adasum", "sync", "sparse"})
      if (find_choice(plan_, other) != nullptr)
        refuse(param,
               "state in 16 bits is of dense weights whose replicas add up whole gradients in "
               "every step, found " +
                   std::string(other) + " beside it",
               fix);
  }

  void remainder() {
    const std::string fix = "main-weights-dtype=fp32";
    if (precision_ != kBf16Word)
      refuse(kMainWeights,
             "a remainder is what a bf16 weight lacks of its fp32 main weight: expected "
             "precision=bf16, found precision=" +
                 precision_,
             precision_ == "fp16" || precision_ == kFp32Word || precision_ == "tf32"
                 ? "precision=bf16"
                 : fix);
    if (!is_among(kByElement, plan_.optimizer))
      refuse(kMainWeights,
             "weights of remainders are updated one element after another, and optimizer=" +
                 plan_.optimizer + " reads whole tensors",
             "optimizer=adamw");
    const Method& schedule = schedule_of(plan_);
    if (schedule.settles != nullptr)
      refuse(kMainWeights,
             "a remainder belongs to the newest weights, and " + std::string(schedule.name) +
                 " reads older ones while microbatches are under way",
             "schedule=1f1b");
    if (copies(schedule.placement) > 1)
      refuse(kMainWeights,
             "a remainder belongs to one copy of a stage's weights, and " +
                 std::string(schedule.name) + " has two",
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

// A moment is read and written by an update, and so is a remainder; the bf16 weight beside it is
// read where a whole main weight is not.
void arrange_formats(Layout& layout, const Scenario& scenario, const Params&) {
  const TensorFormats formats = tensor_formats(scenario.plan);
  for (const DType moment : {formats.first_moment, formats.second_moment})
    if (moment == DType::BF16)
      layout.optimizer_bytes -= kSaved, layout.optimizer_touched_bytes -= 2 * kSaved;
  if (formats.remainder) {
    layout.optimizer_bytes -= kSaved;
    layout.optimizer_touched_bytes -= 2 * kSaved - bytes_of(DType::BF16);
  }
}

void rewrite_messages(Body& body, const Layout& layout, const Scenario& scenario, const Params&) {
  const std::int64_t each = bytes_of(layout.precision.gradient),
                     sent = bytes_of(gradient_message_format(scenario.plan, layout.precision));
  for (BodyOp& op : body.reduce) op.bytes = Bytes{op.bytes.value / each * sent};
}

}  // namespace

TensorFormats tensor_formats(const Plan& plan) {
  return {format_of(word_of(plan, kFirstMoment)), format_of(word_of(plan, kSecondMoment)),
          word_of(plan, kMainWeights) == kRemainder};
}

DType slot_format(const TensorFormats& formats, std::string_view slot) {
  if (slot == "first moment" || slot == "momentum") return formats.first_moment;
  return slot == "second moment" ? formats.second_moment : DType::F32;
}

DType gradient_message_format(const Plan& plan, const Precision& precision) {
  const std::string word = word_of(plan, kReduceFormat);
  return word.empty() || word == kAsGradients ? precision.gradient : format_of(word);
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
      .summary = "Gives moments, main weights and messages formats of their own.",
      .paper = {"DeepSeek-V3 Technical Report", "DeepSeek-AI", "arXiv 2412.19437", 2024},
      .card = {.gains = "moments in bf16 save 2 bytes a parameter each, remainders of main weights "
                        "2 more; messages in bf16 halve the bytes on the wire of fp32 ones",
               .costs = "a second moment in bf16 stands still where it changes by less than a "
                        "512th of itself: beta2 above 0.996; sums of gradients, or activations, "
                        "that are rounded once more",
               .legal_when = "optimizers that update element by element (adam, adamw, momentum, "
                             "lars, lion); remainders beside bf16 weights"},
      .file = "core/methods/precision/tensor_formats.cpp",
      .params = {{.name = kFirstMoment,
                  .fallback = std::string(kFp32Word),
                  .doc = "format of the first moment, or of a momentum",
                  .values = {"fp32", "bf16"}},
                 {.name = kSecondMoment,
                  .fallback = std::string(kFp32Word),
                  .doc = "format of the second moment",
                  .values = {"fp32", "bf16"}},
                 {.name = kMainWeights,
                  .fallback = std::string(kFp32Word),
                  .doc = "main weights: whole in fp32, or the 16 bits that bf16 weights lack of "
                         "them",
                  .values = {"fp32", "remainder"}},
                 {.name = kReduceFormat,
                  .fallback = std::string(kAsGradients),
                  .doc = "format in which gradients travel to be summed: their own, or another",
                  .values = {"gradients", "fp32", "bf16"}},
                 {.name = kBoundaryFormat,
                  .fallback = std::string(kAsActivations),
                  .doc = "format of messages between stages: that of activations, or bf16",
                  .values = {"activations", "bf16"}}},
      .check = [](const Scenario& s, const Params& params) { return Check(s, params).run(); },
      .arrange = arrange_formats,
      .rewrite = rewrite_messages,
  };
}

}  // namespace trainyard
