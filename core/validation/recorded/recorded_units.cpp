#include "core/validation/recorded/recorded_units.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/validation/recorded/trace_match.h"

namespace trainyard {
namespace {

constexpr std::string_view kAutograd = "autograd::engine::evaluate_function: ";

struct HostName {
  std::string_view name, op;
};
// The outermost operator of these decides. The softmax of scores and their mask are parts of
// attention where it is written out.
constexpr HostName kForwardNames[] = {
    {"aten::linear", "matmul"},
    {"aten::addmm", "matmul"},
    {"aten::mm", "matmul"},
    {"aten::matmul", "matmul"},
    {"aten::bmm", "attention"},
    {"aten::baddbmm", "attention"},
    {"aten::softmax", "attention"},
    {"aten::_softmax", "attention"},
    {"aten::masked_fill", "attention"},
    {"aten::scaled_dot_product_attention", "attention"},
    {"aten::_scaled_dot_product_attention", "attention"},
    {"aten::conv1d", "convolution"},
    {"aten::conv2d", "convolution"},
    {"aten::convolution", "convolution"},
    {"aten::batch_norm", "batch_norm"},
    {"aten::layer_norm", "layer_norm"},
    {"aten::native_layer_norm", "layer_norm"},
    {"aten::rms_norm", "rms_norm"},
    {"aten::embedding", "embedding"},
    {"aten::add", "add"},
    {"aten::add_", "add"},
    {"aten::gelu", "gelu"},
    {"aten::relu", "relu"},
    {"aten::relu_", "relu"},
    {"aten::tanh", "tanh"},
    {"aten::dropout", "dropout"},
    {"aten::max_pool2d", "pooling"},
    {"aten::avg_pool2d", "pooling"},
    {"aten::adaptive_avg_pool2d", "pooling"},
    {"aten::cross_entropy_loss", "softmax_loss"},
    {"aten::log_softmax", "softmax_loss"},
    {"aten::nll_loss", "softmax_loss"},
    {"aten::nll_loss_nd", "softmax_loss"},
    {"aten::mse_loss", "squared_error"},
    {"aten::lstm", "lstm"},
};
// A node of autograd is told by how its name, which follows kAutograd, begins.
constexpr HostName kBackwardNames[] = {
    {"AddmmBackward", "matmul"},
    {"MmBackward", "matmul"},
    {"BmmBackward", "attention"},
    {"BaddbmmBackward", "attention"},
    {"SoftmaxBackward", "attention"},
    {"MaskedFillBackward", "attention"},
    {"ScaledDotProduct", "attention"},
    {"ConvolutionBackward", "convolution"},
    {"NativeBatchNormBackward", "batch_norm"},
    {"NativeLayerNormBackward", "layer_norm"},
    {"EmbeddingBackward", "embedding"},
    {"AddBackward", "add"},
    {"GeluBackward", "gelu"},
    {"ReluBackward", "relu"},
    {"TanhBackward", "tanh"},
    {"NativeDropoutBackward", "dropout"},
    {"MaxPool2D", "pooling"},
    {"AvgPool2D", "pooling"},
    {"AdaptiveAvgPool2D", "pooling"},
    {"LogSoftmaxBackward", "softmax_loss"},
    {"NllLossBackward", "softmax_loss"},
    {"MseLossBackward", "squared_error"},
    {"torch::autograd::AccumulateGrad", "optimizer"},
};
constexpr std::string_view kUpdateNames[] = {"Optimizer.step", "Optimizer.zero_grad"};
constexpr std::string_view kMessageNames[] = {"gloo:", "nccl:", "mpi:"};

bool begins(std::string_view text, std::string_view with) { return text.starts_with(with); }

struct HostSpan {
  std::int64_t start, end;
  std::uint32_t name;
};

// The spans of one thread at all depths, an operator before those that it called.
std::vector<HostSpan> nested_spans(const RecordedTrace& trace, std::uint32_t thread) {
  std::vector<HostSpan> spans;
  for (const RecordedRow& row : trace.rows)
    if (row.thread == thread)
      for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
        spans.push_back({trace.start[i], trace.end[i], trace.name[i]});
  std::stable_sort(spans.begin(), spans.end(), [](const HostSpan& a, const HostSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  return spans;
}

struct PlacedUnit {
  std::int64_t start, end;
  RecordedUnit unit;
};

// HostMeaning is the meaning of one name on the host, which is found once for each name.
struct HostMeaning {
  std::string_view op;  // empty: look at what it calls
  StepPart part = StepPart::Forward;
  bool enters_backward = false, known = false;
};

HostMeaning meaning_of(std::string_view name) {
  for (const std::string_view update : kUpdateNames)
    if (begins(name, update)) return {"optimizer", StepPart::Update, false, true};
  for (const std::string_view message : kMessageNames)
    if (begins(name, message)) return {"communication", StepPart::Communication, false, true};
  const std::string_view op = op_of_host(name);
  if (begins(name, kAutograd)) {
    if (op == "optimizer") return {op, StepPart::Update, false, true};
    // A part that is computed again holds forward operators and nodes of its own.
    const bool again = name.find("Checkpoint") != std::string_view::npos;
    return {again || !op.empty() ? op : kOtherWork, StepPart::Backward, again, !again};
  }
  if (begins(name, "aten::")) return {op.empty() ? kOtherWork : op, StepPart::Forward, false, true};
  return {};
}

class HostReader {
 public:
  explicit HostReader(const RecordedTrace& trace) : trace_(trace) {
    for (const std::string& name : trace.names) meanings_.push_back(meaning_of(name));
    for (std::size_t n = 0; n < trace.names.size(); ++n) {
      batched_.push_back(trace.names[n] == "aten::bmm" || trace.names[n] == "aten::baddbmm");
      product_.push_back(trace.names[n] == "aten::matmul");
    }
  }

  void read(std::uint32_t thread, std::vector<PlacedUnit>& into) const {
    const std::vector<HostSpan> spans = nested_spans(trace_, thread);
    std::int64_t taken_until = std::numeric_limits<std::int64_t>::min();
    std::int64_t backward_until = taken_until;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const HostSpan& span = spans[i];
      if (span.start < taken_until) continue;
      const HostMeaning& m = meanings_[span.name];
      if (m.enters_backward) backward_until = std::max(backward_until, span.end);
      if (!m.known) continue;
      taken_until = span.end;
      const bool backward = m.part == StepPart::Forward && span.start < backward_until;
      const std::string_view key =
          product_[span.name] && calls_batched(spans, i) ? std::string_view("attention") : m.op;
      into.push_back({span.start,
                      span.end,
                      {key, backward ? StepPart::Backward : m.part, Duration{span.end - span.start},
                       Instant{span.start}}});
    }
  }

 private:
  // A product of batches is one of attention's.
  bool calls_batched(const std::vector<HostSpan>& spans, std::size_t i) const {
    for (std::size_t c = i + 1; c < spans.size() && spans[c].start < spans[i].end; ++c)
      if (batched_[spans[c].name]) return true;
    return false;
  }

  const RecordedTrace& trace_;
  std::vector<HostMeaning> meanings_;  // by name
  std::vector<bool> batched_, product_;
};

StepPart part_of_kind(RecordedKind kind) {
  switch (kind) {
    case RecordedKind::Forward:
      return StepPart::Forward;
    case RecordedKind::Optimizer:
      return StepPart::Update;
    case RecordedKind::Communication:
      return StepPart::Communication;
    default:
      return StepPart::Backward;
  }
}

void read_streams(const RecordedTrace& trace, std::uint32_t thread, std::vector<PlacedUnit>& into) {
  for (const RecordedRow& row : trace.rows) {
    if (row.thread != thread) continue;
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i) {
      const auto kind = static_cast<RecordedKind>(trace.category[i]);
      if (kind == RecordedKind::Host || kind == RecordedKind::Transfer) continue;
      std::string_view key = kOtherWork;
      if (kind == RecordedKind::Communication)
        key = to_string(KernelFamily::Communication);
      else if (kind == RecordedKind::Optimizer)
        key = to_string(KernelFamily::Optimizer);
      else if (const auto family = family_of_kernel(trace.names[trace.name[i]]))
        key = to_string(*family);
      into.push_back({trace.start[i],
                      trace.end[i],
                      {key, part_of_kind(kind), Duration{trace.end[i] - trace.start[i]},
                       Instant{trace.start[i]}}});
    }
  }
}

// Returns how much of [from, to) no piece covers.
Duration uncovered(const std::vector<PlacedUnit>& placed, std::int64_t from, std::int64_t to) {
  std::int64_t covered = 0, until = from;
  for (const PlacedUnit& p : placed) {
    const std::int64_t begin = std::max(p.start, until), end = std::min(p.end, to);
    if (end <= begin) continue;
    covered += end - begin;
    until = end;
  }
  return Duration{to - from - covered};
}

}  // namespace

const char* to_string(StepPart part) {
  constexpr const char* kNames[] = {"forward", "backward", "update", "communication"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string_view op_of_host(std::string_view name) {
  if (begins(name, kAutograd)) {
    const std::string_view node = name.substr(kAutograd.size());
    for (const HostName& known : kBackwardNames)
      if (begins(node, known.name)) return known.op;
    return {};
  }
  for (const HostName& known : kForwardNames)
    if (name == known.name) return known.op;
  return {};
}

std::vector<RecordedStepUnits> recorded_units(const RecordedTrace& trace) {
  // Kineto writes a device as a process of its own, beside the one that issues its kernels.
  const bool on_devices = std::any_of(trace.threads.begin(), trace.threads.end(),
                                      [](const RecordedThread& thread) { return thread.device; });
  std::vector<std::vector<PlacedUnit>> placed(trace.processes.size());
  const HostReader host(trace);
  for (std::uint32_t t = 0; t < trace.threads.size(); ++t) {
    const RecordedThread& thread = trace.threads[t];
    std::vector<PlacedUnit>& into = placed[thread.process];
    if (thread.device)
      read_streams(trace, t, into);
    else if (!on_devices)
      host.read(t, into);
  }
  std::vector<RecordedStepUnits> found;
  for (std::uint32_t p = 0; p < placed.size(); ++p) {
    std::vector<PlacedUnit>& units = placed[p];
    if (units.empty()) continue;
    std::stable_sort(units.begin(), units.end(),
                     [](const PlacedUnit& a, const PlacedUnit& b) { return a.start < b.start; });
    const std::span<const RecordedStep> measured = measured_steps(trace, p);
    std::vector<RecordedStep> steps(measured.begin(), measured.end());
    if (steps.empty()) {
      std::int64_t last = units.front().start;
      for (const PlacedUnit& unit : units) last = std::max(last, unit.end);
      steps.push_back({p, 0, Instant{units.front().start}, Instant{last}});
    }
    for (const RecordedStep& step : steps) {
      const std::int64_t from = step.from.count(), to = step.to.count();
      const auto first =
          std::lower_bound(units.begin(), units.end(), from,
                           [](const PlacedUnit& unit, std::int64_t at) { return unit.start < at; });
      const auto last =
          std::lower_bound(first, units.end(), to,
                           [](const PlacedUnit& unit, std::int64_t at) { return unit.start < at; });
      const std::vector<PlacedUnit> own(first, last);
      RecordedStepUnits one{p, step.number, Duration{to - from}, uncovered(own, from, to), {}};
      for (const PlacedUnit& unit : own) one.units.push_back(unit.unit);
      found.push_back(std::move(one));
    }
  }
  return found;
}

}  // namespace trainyard
