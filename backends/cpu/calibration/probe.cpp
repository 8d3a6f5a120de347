#include "backends/cpu/calibration/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "backends/cpu/calibration/rehearsal_operands.h"
#include "backends/cpu/kernels/kernel.h"
#include "core/base/error.h"
#include "core/base/processor_time.h"
#include "core/base/random.h"
#include "core/base/units_text.h"
#include "core/model/ops.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

// A timing lasts at least so long, so that the clock's own time is a thousandth of it.
constexpr double kLeastTiming = 100e-6;  // seconds
constexpr double kMostCalls = 1000;
// Other programs can only make a timing longer, by what they do to the caches. A round keeps the
// least of several timings where these are short.
constexpr int kTimings = 3;
constexpr double kShort = 5e-3;  // seconds

// Memory that all sizes of an op share: a slot holds as many bytes as the largest operand in it.
class Slots {
 public:
  /// Returns the slot of the next operand of a graph; next_graph() begins at the first one again.
  std::size_t take(std::int64_t bytes) {
    if (at_ == bytes_.size()) bytes_.push_back(0);
    bytes_[at_] = std::max({bytes_[at_], bytes, std::int64_t{64}});
    return at_++;
  }
  void next_graph() { at_ = 0; }

  void allocate(std::uint64_t seed) {
    Bytes all{};
    for (const std::int64_t bytes : bytes_) all += Bytes{std::min(bytes, kMostProbed.value + 1)};
    if (all > kMostProbed)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected sizes whose operands take at most {}, found more",
                              readable(kMostProbed)));
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const std::int64_t floats = (bytes_[i] + 3) / 4;
      held_.emplace_back(static_cast<std::byte*>(
          ::operator new(static_cast<std::size_t>(4 * floats), std::align_val_t{64})));
      TensorView numbers{.data = held_.back().get(), .rank = 1, .size = {floats}};
      fill_numbers(numbers, TensorKind::Activation, Random(seed, i));
    }
  }
  void* at(std::size_t slot) const { return held_[slot].get(); }
  std::int64_t bytes(std::size_t slot) const { return bytes_[slot]; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::size_t at_ = 0;
  std::vector<std::int64_t> bytes_;
  std::vector<std::unique_ptr<std::byte, Free>> held_;
};

// One size of the op, with its operands in the slots.
class Probed {
 public:
  Probed(const Graph& graph, Slots& slots) : graph_(graph) {
    slots.next_graph();
    const Node& node = graph.nodes.front();
    const auto add = [&](std::vector<TensorView>& list, TensorId id, bool wanted) {
      const Tensor& tensor = graph[id];
      TensorView view;
      for (const std::int64_t size : local_shape(tensor, binding_))
        view.size[static_cast<std::size_t>(view.rank++)] = size;
      view.type = tensor.kind == TensorKind::Index ? DType::I64 : DType::F32;
      places_.push_back(wanted ? slots.take(saturated_bytes(tensor)) : kNowhere);
      list.push_back(view);
    };
    for (const TensorId id : node.inputs) add(inputs_, id, true);
    for (const TensorId id : node.inputs)
      add(input_gradients_, id, graph[id].kind == TensorKind::Activation);
    for (const TensorId id : node.inputs)
      add(weight_gradients_, id, graph[id].kind == TensorKind::Parameter);
    for (const TensorId id : node.outputs) add(outputs_, id, true);
    for (const TensorId id : node.outputs) add(output_gradients_, id, true);
    for (const Saved& s : node.op->saved({graph_, node, binding_, precision_}))
      if (!s.tensor.valid()) {
        places_.push_back(slots.take(s.bytes.value));
        facts_.push_back({s.what, nullptr, s.what == "mask" ? DType::Bool : DType::F32, s.bytes});
      }
  }

  // Labels are numbers of classes: the first class is there in every size.
  void place(const Slots& slots) {
    std::size_t at = 0;
    const auto set = [&](void*& data) {
      const std::size_t slot = places_[at++];
      data = slot == kNowhere ? nullptr : slots.at(slot);
    };
    for (std::vector<TensorView>* list :
         {&inputs_, &input_gradients_, &weight_gradients_, &outputs_, &output_gradients_})
      for (TensorView& view : *list) {
        set(view.data);
        if (view.type == DType::I64 && view.there())
          std::memset(view.data, 0, static_cast<std::size_t>(view.bytes().value));
      }
    for (FactView& fact : facts_) set(fact.data);
  }

  void run(Pass pass, Scratch& scratch) const {
    KernelCall call{
        .graph = graph_, .node = graph_.nodes.front(), .binding = binding_, .scratch = scratch};
    call.inputs = inputs_, call.outputs = outputs_, call.facts = facts_;
    if (pass != Pass::Forward) {
      call.output_gradients = output_gradients_;
      call.weight_gradients = weight_gradients_;
    }
    if (pass == Pass::BackwardInput) call.input_gradients = input_gradients_;
    run_kernel(call, pass);
  }

  // A backward pass reads what forward left in the memory that the sizes share.
  double seconds_of(Pass pass, int calls, Scratch& scratch) const {
    if (pass != Pass::Forward) run(Pass::Forward, scratch);
    run(pass, scratch);
    double least = 0;
    for (int timing = 0; timing < kTimings && (timing == 0 || least * calls < kShort); ++timing) {
      const Duration before = thread_processor_time();
      for (int i = 0; i < calls; ++i) run(pass, scratch);
      const double took = std::max(1e-9, to_seconds(thread_processor_time() - before)) / calls;
      least = timing == 0 ? took : std::min(least, took);
    }
    return least;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::int64_t saturated_bytes(const Tensor& tensor) const {
    const std::int64_t each = tensor.kind == TensorKind::Index ? 8 : 4;
    return std::min(local_elements(tensor.shape, binding_), kMostProbed.value) * each;
  }

  const Graph& graph_;
  Binding binding_;
  Precision precision_ = {};
  std::vector<std::size_t> places_;  // by operand, in the order of the constructor
  std::vector<TensorView> inputs_, input_gradients_, weight_gradients_, outputs_, output_gradients_;
  std::vector<FactView> facts_;
};

// An order of chance (Fisher and Yates).
std::vector<std::size_t> shuffled(std::size_t count, const Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i-- > 1;)
    std::swap(order[i],
              order[static_cast<std::size_t>(random.between(i, 0, static_cast<std::int64_t>(i)))]);
  return order;
}

}  // namespace

void expect_pass(const Graph& graph, Pass pass) {
  const Node& node = graph.nodes.front();
  const CpuKernel& kernel = cpu_kernel(*node.op);
  const bool weights = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    return graph[id].kind == TensorKind::Parameter;
  });
  if (kernel.of(pass) != nullptr && (pass != Pass::BackwardWeight || weights)) return;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("{} has no kernel for this pass, expected another", node.op->name));
}

std::vector<std::vector<double>> probe(std::span<const Graph> graphs, const ProbeOptions& options) {
  Slots slots;
  std::vector<Probed> probed;
  for (const Graph& graph : graphs) {
    expect_pass(graph, options.pass);
    probed.emplace_back(graph, slots);
  }
  slots.allocate(options.seed);
  Scratch scratch;
  std::vector<int> calls;
  std::vector<std::vector<double>> seconds(graphs.size());
  for (Probed& one : probed) {
    if (options.stop.stop_requested()) return seconds;
    one.place(slots);
    const double once = one.seconds_of(options.pass, 1, scratch);
    calls.push_back(static_cast<int>(std::clamp(kLeastTiming / once, 1.0, kMostCalls)));
  }
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<double> took(graphs.size());
    for (const std::size_t i :
         shuffled(graphs.size(), Random(options.seed, static_cast<std::uint64_t>(round)))) {
      if (options.stop.stop_requested()) return seconds;
      took[i] = probed[i].seconds_of(options.pass, calls[i], scratch);
    }
    for (std::size_t i = 0; i < took.size(); ++i) seconds[i].push_back(took[i]);
    if (options.progress)
      options.progress(static_cast<double>(round + 1) / static_cast<double>(options.rounds));
  }
  return seconds;
}

}  // namespace trainyard
