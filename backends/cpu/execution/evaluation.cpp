// Evaluates a model on samples it was not trained on: forward only, layer after layer, with whole
// parameters in 4-byte floats. Dropout is off; batch norms use their running statistics, where the
// backend has kept them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/flex_product.h"
#include "backends/cpu/kernels/formats.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/narrow_product.h"
#include "backends/documents.h"
#include "backends/processes.h"
#include "core/base/processor_time.h"
#include "core/methods/precision/narrow_products.h"
#include "core/model/never_negative.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "core/training/data/document_data.h"

namespace trainyard {
namespace {

// An EvaluatedBatch has the sum of a batch's losses, what they weigh, and right answers of rows.
struct EvaluatedBatch {
  double loss = 0, weight = 0, right = 0, rows = 0;
};

// The formats in which a plan's forward computes.
struct ForwardFormats {
  DType parameter = DType::F32, activation = DType::F32;
  std::unique_ptr<const NarrowScaling> products;  // of operands in few bits; null: none are
  std::vector<bool> narrow_layers = {};           // by layer of the model: its products take them
  DType math = DType::F32;
};

ForwardFormats formats_of(const Workload& w) {
  const Precision& precision = w.layout.precision;
  ForwardFormats formats{
      precision.parameter, precision.activation, narrow_scaling(w), {}, precision.math};
  if (formats.products == nullptr) return formats;
  for (const std::vector<Workload::Run>& stage : w.runs)
    for (const Workload::Run& run : stage)
      formats.narrow_layers.insert(formats.narrow_layers.end(), static_cast<std::size_t>(run.count),
                                   multiplies_narrow(w.bodies[static_cast<std::size_t>(run.body)]));
  return formats;
}

void round_to(DType type, std::vector<float>& numbers) {
  if (type == DType::BF16 || type == DType::F16) numbers = rounded(numbers, type);
}

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
    batch_answers_.clear(), batch_labels_.clear(), batch_scores_.clear();
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
  void compute_in(ForwardFormats formats) { formats_ = std::move(formats); }
  void compute_by_reference() { by_reference_ = true; }
  void read_training_samples() { held_out_ = false; }
  void show_to(const std::function<void(const SeenActivation&)>& shown) { shown_ = shown; }
  // Both are of the batch that was evaluated last, by row.
  const std::vector<std::int32_t>& batch_answers() const { return batch_answers_; }
  const std::vector<std::int32_t>& batch_labels() const { return batch_labels_; }
  const std::vector<float>& batch_scores() const { return batch_scores_; }

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
    round_to(formats_.parameter, b.numbers);
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
    if (layer > 0 && shown_)
      shown_({layer, graph, graph.input, tensors[graph.input.value].numbers});
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
          if (shown_ && graph[in].kind == TensorKind::Activation)
            shown_({layer, graph, in, tensors[in.value].numbers});
        }
        inputs.push_back(tensors[in.value].view);
      }
      for (TensorId out : node.outputs) {
        tensors[out.value] = empty(graph, out);
        there[out.value] = true;
        outputs.push_back(tensors[out.value].view);
      }
      const bool narrow = formats_.products != nullptr && multiplies_narrow(node, formats_.math) &&
                          formats_.narrow_layers[static_cast<std::size_t>(layer)];
      compute(graph, node, layer, inputs, outputs, routing, narrow);
      for (const TensorId out : node.outputs)
        if (graph[out].kind == TensorKind::Activation) {
          round_to(formats_.activation, tensors[out.value].numbers);
          tensors[out.value].view.data = tensors[out.value].numbers.data();
          if (shown_)
            shown_({layer, graph, out, tensors[out.value].numbers, block.name, /*made=*/true});
        }
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
    const DataRequest request{model_, graph, id, shape, first, held_out_, 0};
    if (b.view.type == DType::I64)
      source_.fill(request, std::span(b.indices));
    else
      source_.fill(request, std::span(b.numbers));
    round_to(formats_.activation, b.numbers);
    b.view.data =
        b.view.type == DType::I64 ? static_cast<void*>(b.indices.data()) : b.numbers.data();
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
               Routing& routing, bool narrow) {
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
    if (narrow) {
      NarrowOperands operands{*formats_.products};
      operands.no_negative_input = never_negative(model_, layer, node.inputs[0]);
      (multiplies_integers(*formats_.products) ? run_flex : run_narrow)(call, Pass::Forward,
                                                                        operands);
    } else if (by_reference_) {
      reference_kernel(*node.op).forward(call);
    } else {
      run_kernel(call, Pass::Forward);
    }
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
      batch_answers_.push_back(static_cast<std::int32_t>(likely));
      if (classes == 1) batch_scores_.push_back(row[0]);
      batch_labels_.push_back(static_cast<std::int32_t>(labels.i64()[r]));
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
  ForwardFormats formats_;
  bool by_reference_ = false, held_out_ = true;
  std::function<void(const SeenActivation&)> shown_;
  std::vector<std::int32_t> batch_answers_, batch_labels_;
  std::vector<float> batch_scores_;
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

// EvaluationBatches says which batches of a source are evaluated.
struct EvaluationBatches {
  std::optional<DocumentStream> documents;
  std::unique_ptr<DataSource> packed;
  const DataSource& source;
  Binding binding = {};
  std::int64_t count = 0;

  EvaluationBatches(const Workload& w, const DataSource& given, std::int64_t most_samples,
                    bool held_out = true)
      : documents(document_stream(w, 0)),
        packed(documents ? document_data(given, *documents) : nullptr),
        source(packed ? *packed : given) {
    binding.sequence = w.layout.binding.sequence;
    std::int64_t samples = held_out ? source.evaluation_samples() : source.samples();
    if (most_samples > 0) samples = std::min(samples, most_samples);
    constexpr std::int64_t kBatch = 100;  // large enough for batch norms without running statistics
    binding.micro_batch = std::max<std::int64_t>(1, std::min(kBatch, samples));
    // Positions from a table are one list for all samples, and those of packed documents differ.
    if (documents && documents->plan().packed) binding.micro_batch = 1;
    count = samples / binding.micro_batch;
  }
};

}  // namespace

ModelEvaluation evaluate(const Workload& w, const std::vector<TrainedTensor>& trained,
                         const DataSource& given, std::int64_t most_samples, const Evaluators& by) {
  if (const auto acting = given.acting())
    return {.loss = std::nan(""),
            .samples = acting->evaluation_samples(),
            .mean_return = acting->mean_return(w.scenario.model, trained),
            .time = {}};
  const EvaluationBatches of(w, given, most_samples);
  const Binding& binding = of.binding;
  Evaluator evaluator(w.scenario.model, binding, trained, of.source, of.documents);
  std::vector<EvaluatedBatch> batches(static_cast<std::size_t>(of.count));
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

double ModelAnswers::accuracy() const {
  if (answers.empty()) return 0;
  std::size_t right = 0;
  for (std::size_t row = 0; row < answers.size(); ++row)
    if (answers[row] == labels[row]) ++right;
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

ModelAnswers answers(const Workload& w, const std::vector<TrainedTensor>& trained,
                     const DataSource& given, std::int64_t most_samples, const AnswerMaths& maths,
                     const std::stop_token& stop) {
  const Model& model = w.scenario.model;
  const auto refuse = [&](const std::string& found) {
    throw Error(
        Error::Kind::InvalidInput,
        "expected a model that classifies, whose answers are right or wrong, found " + found,
        {"--model"});
  };
  if (given.acting()) refuse(std::string(given.name()) + ", in which " + model.name + " acts");
  const EvaluationBatches of(w, given, most_samples);
  Evaluator evaluator(model, of.binding, trained, of.source, of.documents);
  if (maths.in_precision) evaluator.compute_in(formats_of(w));
  if (maths.reference) evaluator.compute_by_reference();
  std::int64_t batch = 0;
  if (maths.seen)
    evaluator.show_to([&](const SeenActivation& seen) {
      if (batch == 0 && seen.made)
        maths.seen(
            fmt::format("{} {} of layer {}", seen.block, seen.graph[seen.tensor].name, seen.layer),
            seen.numbers);
    });
  ModelAnswers found;
  double loss = 0, weight = 0;
  for (; batch < of.count; ++batch) {
    if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped");
    const EvaluatedBatch one = evaluator.evaluate(batch * of.binding.micro_batch);
    loss += one.loss, weight += one.weight;
    found.answers.insert(found.answers.end(), evaluator.batch_answers().begin(),
                         evaluator.batch_answers().end());
    found.labels.insert(found.labels.end(), evaluator.batch_labels().begin(),
                        evaluator.batch_labels().end());
    found.scores.insert(found.scores.end(), evaluator.batch_scores().begin(),
                        evaluator.batch_scores().end());
  }
  if (found.answers.empty()) refuse(model.name + ", which has no classes");
  found.loss = loss / weight;
  return found;
}

void show_activations(const Workload& w, const std::vector<TrainedTensor>& trained,
                      const DataSource& given, std::int64_t samples,
                      const std::function<void(const SeenActivation&)>& shown,
                      const std::stop_token& stop) {
  const EvaluationBatches of(w, given, samples, false);
  Evaluator evaluator(w.scenario.model, of.binding, trained, of.source, of.documents);
  evaluator.read_training_samples();
  evaluator.show_to(shown);
  for (std::int64_t batch = 0; batch < of.count; ++batch) {
    if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped");
    evaluator.evaluate(batch * of.binding.micro_batch);
  }
}

}  // namespace trainyard
