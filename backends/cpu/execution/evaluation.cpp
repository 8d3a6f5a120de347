// Evaluates a model on samples it was not trained on: forward only, layer after layer, with whole
// parameters in 4-byte floats. Dropout is off; batch norms use their running statistics, where the
// backend has kept them.
#include <algorithm>
#include <cmath>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/kernels/formats.h"
#include "backends/documents.h"
#include "backends/processes.h"
#include "core/base/processor_time.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "core/training/document_data.h"

namespace trainyard {
namespace {

// An EvaluatedBatch has the sum of a batch's losses, what they weigh, and right answers of rows.
struct EvaluatedBatch {
  double loss = 0, weight = 0, right = 0, rows = 0;
};

struct Buffer32 {
  std::vector<float> numbers;
  std::vector<std::int64_t> indices;
  TensorView view;
};

class Evaluator {
 public:
  Evaluator(const Model& model, const Binding& binding, const std::vector<TrainedTensor>& trained,
            const DataSource& source, const std::optional<DocumentStream>& documents)
      : model_(model),
        binding_(binding),
        trained_(trained),
        source_(source),
        documents_(documents) {}

  // Evaluates one batch that begins with the given sample.
  EvaluatedBatch evaluate(std::int64_t first) {
    rows_ = right_ = 0;
    int layer = 0;
    Buffer32 flowing, side;
    if (documents_) bounds_ = documents_->bounds_alone(first, binding_.micro_batch);
    for (const Block& block : model_.blocks)
      for (int i = 0; i < block.count; ++i)
        flowing = run(block, layer++, first, std::move(flowing), side);
    const double weight = documents_ ? bounds_.counted : 1;
    return {weight * flowing.numbers[0], weight, static_cast<double>(right_),
            static_cast<double>(rows_)};
  }

 private:
  static void allocate(Buffer32& b) {
    const auto n = static_cast<std::size_t>(b.view.elements());
    if (b.view.type == DType::I64)
      b.indices.resize(n), b.view.data = b.indices.data();
    else
      b.numbers.resize(n), b.view.data = b.numbers.data();
  }
  Buffer32 empty(const Graph& graph, TensorId id) const {
    Buffer32 b;
    for (std::int64_t size : local_shape(graph[id], binding_))
      b.view.size[static_cast<std::size_t>(b.view.rank++)] = size;
    b.view.type = graph[id].kind == TensorKind::Index ? DType::I64 : DType::F32;
    allocate(b);
    return b;
  }

  const TrainedTensor* find(int layer, const std::string& name) const {
    const auto at = std::find_if(trained_.begin(), trained_.end(), [&](const TrainedTensor& t) {
      return t.layer == layer && t.name == name;
    });
    return at == trained_.end() ? nullptr : &*at;
  }
  // The parameter of the layer, or the one it is tied to.
  Buffer32 parameter(const Graph& graph, TensorId id, int layer) const {
    Buffer32 b;
    const Tensor& tensor = graph[id];
    b = empty(graph, id);
    if (const TrainedTensor* own = find(layer, tensor.name)) {
      b.numbers = own->values;
    } else {
      int first = 0;
      for (const Block& block : model_.blocks) {
        const std::string prefix = block.name + "/";
        if (tensor.tied_to.starts_with(prefix))
          if (const TrainedTensor* owner = find(first, tensor.tied_to.substr(prefix.size()))) {
            b.numbers = owner->values;
            b.view.transposed = owner->shape != local_shape(tensor, binding_);
          }
        first += block.count;
      }
    }
    b.view.data = b.numbers.data();
    return b;
  }

  // `side`: the side input, where the layers before have read one.
  Buffer32 run(const Block& block, int layer, std::int64_t first, Buffer32 input, Buffer32& side) {
    const Graph& graph = block.graph;
    std::vector<Buffer32> tensors(graph.tensors.size());
    std::vector<bool> there(graph.tensors.size(), false);
    Routing routing;
    if (layer > 0) tensors[graph.input.value] = std::move(input), there[graph.input.value] = true;
    const TensorId also = graph.side_input;
    if (also.valid() && also != graph.input)
      tensors[also.value] = std::move(side), there[also.value] = true;
    for (const Node& node : graph.nodes) {
      std::vector<TensorView> inputs, outputs;
      for (TensorId in : node.inputs) {
        if (!there[in.value]) {
          const bool parameter_here = graph[in].kind == TensorKind::Parameter;
          tensors[in.value] = parameter_here ? parameter(graph, in, layer) : data(graph, in, first);
          there[in.value] = true;
        }
        inputs.push_back(tensors[in.value].view);
      }
      for (TensorId out : node.outputs) {
        tensors[out.value] = empty(graph, out);
        there[out.value] = true;
        outputs.push_back(tensors[out.value].view);
      }
      compute(graph, node, layer, inputs, outputs, routing);
      if (node.op->name == "softmax_loss") count_right(inputs[0], inputs[1]);
    }
    Buffer32 out = std::move(tensors[graph.output.value]);
    out.view.data = out.numbers.data();
    if (also.valid()) side = std::move(tensors[also.value]);
    return out;
  }

  Buffer32 data(const Graph& graph, TensorId id, std::int64_t first) const {
    Buffer32 b = empty(graph, id);
    const std::span<const std::int64_t> shape(b.view.size.data(),
                                              static_cast<std::size_t>(b.view.rank));
    const DataRequest request{model_, graph, id, shape, first, true, 0};
    if (b.view.type == DType::I64)
      source_.fill(request, std::span(b.indices));
    else
      source_.fill(request, std::span(b.numbers));
    return b;
  }

  // Not given where the backend has kept none.
  ChannelStatistics running_statistics(const Node& node, int layer) const {
    ChannelStatistics found;
    const TrainedTensor *const mean = find(layer, running_mean_of(node)), *const variance = find(
                                                                              layer,
                                                                              running_variance_of(
                                                                                  node));
    if (mean == nullptr || variance == nullptr) return found;
    for (std::size_t c = 0; c < mean->values.size(); ++c) {
      found.values.push_back(mean->values[c]);
      found.values.push_back(variance->values[c]);
    }
    found.given = true;
    return found;
  }

  void compute(const Graph& graph, const Node& node, int layer,
               const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
               Routing& routing) {
    if (node.op->name == "dropout") {
      std::copy_n(inputs[0].f32(), inputs[0].elements(), outputs[0].f32());
      return;
    }
    Node quiet = node;
    quiet.attributes.erase("dropout");
    // Facts are written but not used.
    const Precision precision;
    const LocalNode local{graph, quiet, binding_, precision, true};
    std::vector<std::vector<std::byte>> kept;
    std::vector<FactView> facts;
    for (const Saved& s : node.op->saved(local)) {
      if (s.tensor.valid()) continue;
      kept.emplace_back(static_cast<std::size_t>(s.bytes.value));
      facts.push_back({s.what, kept.back().data(), fact_type(s.what, precision), s.bytes});
    }
    KernelCall call{.graph = graph,
                    .node = quiet,
                    .binding = binding_,
                    .inputs = inputs,
                    .outputs = outputs,
                    .facts = facts,
                    .scratch = scratch_,
                    .routing = &routing};
    ChannelStatistics statistics;
    if (node.op == &batch_norm()) statistics = running_statistics(node, layer);
    if (statistics.given) call.statistics = &statistics;
    if (documents_) call.documents = &bounds_;
    Scratch::Frame frame(scratch_);
    run_kernel(call, Pass::Forward);
  }

  void count_right(const TensorView& logits, const TensorView& labels) {
    const std::int64_t rows = labels.elements(), classes = logits.elements() / rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      if (documents_ && labels.i64()[r] == kPaddingLabel) continue;
      ++rows_;
      const float* row = logits.f32() + r * classes;
      // A single logit is the log odds of the second of two classes.
      const std::int64_t likely =
          classes == 1 ? row[0] > 0 : std::max_element(row, row + classes) - row;
      right_ += likely == labels.i64()[r] ? 1 : 0;
    }
  }

  const Model& model_;
  Binding binding_;
  const std::vector<TrainedTensor>& trained_;
  const DataSource& source_;
  const std::optional<DocumentStream>& documents_;
  DocumentBounds bounds_;  // of the batch that is evaluated
  Scratch scratch_;
  std::int64_t right_ = 0, rows_ = 0;  // of the batch
};

// Evaluates the batches of those evaluators that are this process's, and adds the others'. Returns
// the longest time of an evaluator.
template <class Evaluate>
Duration evaluate_all(std::vector<EvaluatedBatch>& batches, const Evaluators& by,
                      Evaluate&& evaluate_one) {
  const auto count = static_cast<std::size_t>(by.count);
  const std::size_t ranks = by.processes == nullptr
                                ? 1
                                : static_cast<std::size_t>(by.processes->count()),
                    own = by.processes == nullptr ? 0
                                                  : static_cast<std::size_t>(by.processes->rank());
  std::vector<double> seconds_of(count);
  for (std::size_t e = own; e < count; e += ranks) {
    const Duration began = thread_processor_time();
    for (std::size_t b = e; b < batches.size(); b += count) batches[b] = evaluate_one(b);
    seconds_of[e] = to_seconds(thread_processor_time() - began);
  }
  if (by.processes != nullptr) {
    static_assert(sizeof(EvaluatedBatch) == 4 * sizeof(double));
    by.processes->sum({&batches.data()->loss, 4 * batches.size()});
    by.processes->sum(seconds_of);
  }
  return seconds(*std::max_element(seconds_of.begin(), seconds_of.end()));
}

}  // namespace

ModelEvaluation evaluate(const Workload& w, const std::vector<TrainedTensor>& trained,
                         const DataSource& given, std::int64_t most_samples, const Evaluators& by) {
  if (const auto acting = given.acting())
    return {.loss = std::nan(""),
            .samples = acting->evaluation_samples(),
            .mean_return = acting->mean_return(w.scenario.model, trained),
            .time = {}};
  const std::optional<DocumentStream> documents = document_stream(w, 0);
  std::unique_ptr<DataSource> packed;
  if (documents) packed = document_data(given, *documents);
  const DataSource& source = packed ? *packed : given;
  Binding binding;
  binding.sequence = w.layout.binding.sequence;
  std::int64_t samples = source.evaluation_samples();
  if (most_samples > 0) samples = std::min(samples, most_samples);
  constexpr std::int64_t kBatch = 100;  // large enough for batch norms without running statistics
  binding.micro_batch = std::max<std::int64_t>(1, std::min(kBatch, samples));
  // Positions from a table are one list for all samples, and those of packed documents differ.
  if (documents && documents->plan().packed) binding.micro_batch = 1;
  Evaluator evaluator(w.scenario.model, binding, trained, source, documents);
  std::vector<EvaluatedBatch> batches(static_cast<std::size_t>(samples / binding.micro_batch));
  if (batches.empty()) return {};
  const Duration time = evaluate_all(batches, by, [&](std::size_t batch) {
    return evaluator.evaluate(static_cast<std::int64_t>(batch) * binding.micro_batch);
  });
  // In the order of batches, so that who has evaluated them makes no difference.
  EvaluatedBatch all;
  for (const EvaluatedBatch& batch : batches) {
    all.loss += batch.loss, all.weight += batch.weight;
    all.right += batch.right, all.rows += batch.rows;
  }
  return {.loss = all.loss / all.weight,
          .accuracy = all.rows > 0 ? all.right / all.rows : -1,
          .samples = static_cast<std::int64_t>(batches.size()) * binding.micro_batch,
          .mean_return = {},
          .time = time};
}

}  // namespace trainyard
