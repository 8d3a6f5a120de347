#include "app/workspace/scenario/microcontroller.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "backends/cpu/execution/evaluation.h"
#include "backends/initial_weights.h"
#include "backends/start_weights.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/microcontroller/c_source.h"
#include "core/microcontroller/interpreter.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "core/training/data_source.h"

namespace trainyard {
namespace {

std::vector<TrainedTensor> weights_of(const Model& model, const MicrocontrollerQuestion& q) {
  Training training;
  training.seed = q.seed;
  std::vector<TrainedTensor> weights;
  int layer = 0;
  for (const Block& block : model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer)
      for (std::size_t t = 0; t < block.graph.tensors.size(); ++t) {
        const Tensor& tensor = block.graph.tensors[t];
        if (tensor.kind != TensorKind::Parameter) continue;
        std::vector<std::int64_t> shape = local_shape(tensor, {});
        std::vector<float> values = initial_weights(
            block.graph, TensorId{static_cast<std::uint32_t>(t)}, shape, layer, training);
        weights.push_back({layer, tensor.name, std::move(shape), std::move(values)});
      }
  if (q.start_from.empty()) return weights;
  return whole_start_weights(q.start_from, model, std::move(weights));
}

// The sums of a batch norm's input over all samples, by channel.
struct NormSums {
  const Node* norm = nullptr;
  std::vector<double> sums, squares;
  double count = 0;  // of numbers in a channel

  // numbers: samples x channels x plane.
  void add(std::span<const float> numbers, std::size_t plane) {
    const std::size_t channels = sums.size();
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      const std::size_t c = at / plane % channels;
      const double number = numbers[at];
      sums[c] += number, squares[c] += number * number;
    }
    count += static_cast<double>(numbers.size() / channels);
  }
};

std::vector<TrainedTensor> norm_statistics(const Workload& w,
                                           const std::vector<TrainedTensor>& weights,
                                           const DataSource& data,
                                           const MicrocontrollerQuestion& q) {
  std::map<std::pair<int, TensorId>, NormSums> sums;  // by what the norm reads
  int layer = 0;
  for (const Block& block : w.scenario.model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer)
      for (const Node& node : block.graph.nodes) {
        if (node.op != &batch_norm()) continue;
        const auto channels = static_cast<std::size_t>(block.graph[node.inputs[1]].shape[0].size);
        sums[{layer, node.inputs[0]}] = {&node, std::vector<double>(channels),
                                         std::vector<double>(channels), 0};
      }
  std::vector<TrainedTensor> statistics;
  if (sums.empty()) return statistics;
  const auto see = [&](const SeenActivation& seen) {
    const auto found = sums.find({seen.layer, seen.tensor});
    if (found == sums.end()) return;
    const Shape& shape = seen.graph[seen.tensor].shape;
    const std::int64_t plane = shape.size() == 4 ? shape[2].size * shape[3].size : 1;
    found->second.add(seen.numbers, static_cast<std::size_t>(plane));
  };
  show_activations(w, weights, data, q.calibration, see, q.stop);
  for (const auto& [at, sum] : sums) {
    const auto channels = static_cast<std::int64_t>(sum.sums.size());
    TrainedTensor mean{at.first, running_mean_of(*sum.norm), {channels}, {}},
        variance{at.first, running_variance_of(*sum.norm), {channels}, {}};
    for (std::size_t c = 0; c < sum.sums.size(); ++c) {
      const double middle = sum.sums[c] / sum.count;
      mean.values.push_back(static_cast<float>(middle));
      variance.values.push_back(
          static_cast<float>(std::max(0.0, sum.squares[c] / sum.count - middle * middle)));
    }
    statistics.push_back(std::move(mean));
    statistics.push_back(std::move(variance));
  }
  return statistics;
}

// Adds to `samples` how many are seen, which are whole batches.
std::vector<CalibratedRange> ranges_of(const FloatNetwork& network, const Workload& w,
                                       const std::vector<TrainedTensor>& trained,
                                       const DataSource& data, const MicrocontrollerQuestion& q,
                                       std::int64_t& samples) {
  std::vector<CalibratedRange> ranges(network.tensors.size());
  std::map<std::pair<int, TensorId>, std::size_t> index;
  for (std::size_t t = 0; t < network.tensors.size(); ++t)
    index[{network.tensors[t].layer, network.tensors[t].tensor}] = t;
  const auto see = [&](const SeenActivation& seen) {
    const auto found = index.find({seen.layer, seen.tensor});
    if (found == index.end()) return;
    if (found->second == static_cast<std::size_t>(network.input))
      samples += static_cast<std::int64_t>(seen.numbers.size()) /
                 network.tensors[found->second].size.elements();
    const auto [low, high] = std::minmax_element(seen.numbers.begin(), seen.numbers.end());
    CalibratedRange& range = ranges[found->second];
    range.low = std::min(range.low, *low), range.high = std::max(range.high, *high);
  };
  show_activations(w, trained, data, q.calibration, see, q.stop);
  return ranges;
}

// The answers of the network to the first samples for evaluation.
std::vector<std::int32_t> network_answers(const IntegerNetwork& network, const Model& model,
                                          const DataSource& data, std::size_t samples,
                                          const std::stop_token& stop) {
  const Graph& first = model.blocks.front().graph;
  const IntegerTensor &input = network.tensor(network.input),
                      &output = network.tensor(network.output);
  const std::vector<std::int64_t> shape = local_shape(first[first.input], {});
  std::vector<float> numbers(static_cast<std::size_t>(input.size.elements()));
  std::vector<std::int8_t> scores(static_cast<std::size_t>(output.size.elements())),
      arena(static_cast<std::size_t>(network.arena.value));
  std::vector<std::int32_t> found;
  for (std::size_t s = 0; s < samples; ++s) {
    if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped");
    data.fill(DataRequest{model, first, first.input, shape, static_cast<std::int64_t>(s), true, 0},
              std::span(numbers));
    run_network(network, quantised(channels_last(numbers, input.size), input.scale), scores, arena);
    // A single score is the log odds of the second of two classes.
    found.push_back(static_cast<std::int32_t>(
        scores.size() == 1 ? scores[0] > output.scale.zero
                           : std::max_element(scores.begin(), scores.end()) - scores.begin()));
  }
  return found;
}

std::string memory_line(const MicrocontrollerAnswer& a) {
  const IntegerNetwork& n = a.network;
  const bool least = n.arena <= n.arena_bound;
  return fmt::format(
      "RAM           {} B of arena ({}; {}), {} B of input, {} B of output; the stack on top",
      n.arena.value, n.placed_by,
      least ? std::string("no placement needs less")
            : fmt::format("no placement needs less than {} B", n.arena_bound.value),
      n.tensor(n.input).size.elements(), n.tensor(n.output).size.elements());
}

std::string chips_line(const ChipNeed& need) {
  std::vector<std::string> on, not_on;
  for (const Chip& one : chips()) (fits(need, one) ? on : not_on).emplace_back(one.id);
  if (on.empty()) return fmt::format("fits          on none of {}", fmt::join(not_on, ", "));
  return fmt::format("fits          on {}{}", fmt::join(on, ", "),
                     not_on.empty() ? "" : fmt::format("; not on {}", fmt::join(not_on, ", ")));
}

// "flash         749338 B" as "flash: 749338 B", where lines do not stand below each other.
std::string sentence_of(const std::string& line) {
  const std::size_t end = line.find(' ');
  return line.substr(0, end) + ": " + line.substr(line.find_first_not_of(' ', end));
}

}  // namespace

MicrocontrollerAnswer microcontroller_network(const Workload& w, const MicrocontrollerQuestion& q) {
  const Model& model = w.scenario.model;
  check_for_microcontroller(model);
  const std::string name(q.data.empty() ? default_data(model) : q.data);
  DataSeeds seeds(q.seed);
  const std::unique_ptr<DataSource> data = open_data(name, seeds);
  throw_if_errors(data->check(model));
  std::vector<TrainedTensor> trained = weights_of(model, q);
  MicrocontrollerAnswer answer;
  answer.data = std::string(data->name()) + ": " + data->provenance();
  answer.start_from = q.start_from;
  // First of all, because it says whether the model classifies.
  std::vector<TrainedTensor> statistics;
  if (!data->acting()) statistics = norm_statistics(w, trained, *data, q);
  answer.has_norms = !statistics.empty();
  std::move(statistics.begin(), statistics.end(), std::back_inserter(trained));
  const ModelAnswers real = answers(w, trained, *data, q.samples, {}, q.stop);
  const FloatNetwork network = float_network(model, trained);
  answer.multiplications = multiplications(network);
  answer.network =
      integer_network(network, ranges_of(network, w, trained, *data, q, answer.calibration));
  answer.answers = judge_answers(
      real.answers, network_answers(answer.network, model, *data, real.answers.size(), q.stop),
      real.labels);
  const IntegerNetwork& whole = answer.network;
  answer.need = {constant_bytes(whole),
                 whole.arena + Bytes{whole.tensor(whole.input).size.elements() +
                                     whole.tensor(whole.output).size.elements()}};
  return answer;
}

std::vector<std::string> microcontroller_lines(const MicrocontrollerAnswer& a, const Chip* on) {
  const IntegerNetwork& n = a.network;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("network       {}: {} layers, {} multiplications per sample", n.model,
                              n.layers.size(),
                              readable_count(static_cast<double>(a.multiplications))));
  lines.push_back("weights       " +
                  (a.start_from.empty()
                       ? std::string("those with which training begins: nothing is trained")
                       : "of " + a.start_from));
  lines.push_back("data          " + a.data);
  lines.push_back(
      fmt::format("calibration   from the smallest to the largest number of each "
                  "tensor on {} samples for training{}",
                  a.calibration, a.has_norms ? ", whose statistics batch norms have" : ""));
  lines.push_back(
      fmt::format("flash         {} B of constants ({}): weights in 8 bits, biases, "
                  "factors; code on top",
                  a.need.flash.value, readable(a.need.flash)));
  lines.push_back(memory_line(a));
  lines.push_back(fmt::format(
      "accuracy      {} in 4-byte floats, {} in 8-bit numbers, of {} samples for evaluation; {} "
      "are answered otherwise",
      readable_share(a.answers.first_accuracy()), readable_share(a.answers.second_accuracy()),
      a.answers.questions, readable_share(a.answers.flips())));
  lines.push_back(on == nullptr ? chips_line(a.need)
                                : "verdict       " + chip_verdict(a.need, *on));
  return lines;
}

std::vector<std::string> arena_lines(const IntegerNetwork& network) {
  const std::vector<Lifetime> lives = tensor_lives(network);
  std::vector<std::string> lines;
  for (const IntegerLayer& layer : network.layers) {
    const Lifetime& life = lives[static_cast<std::size_t>(layer.output)];
    if (ever_there(life))
      lines.push_back(fmt::format("  at {}, {} B: of {}, held over layers {} to {}",
                                  network.tensor(layer.output).offset, life.bytes.value, layer.name,
                                  life.from + 1, life.to));
  }
  return lines;
}

Exported microcontroller_program(const MicrocontrollerAnswer& a, const Chip* on) {
  std::vector<std::string> lines = microcontroller_lines(a, on);
  Exported exported;
  exported.name = c_name(a.network.model);
  for (const std::string& line : lines)
    exported.warnings.push_back({Diagnostic::Severity::Note, sentence_of(line), {}, {}});
  lines.insert(lines.begin(), "Written by Trainyard.");
  lines.emplace_back("arena         by tensor");
  for (std::string& line : arena_lines(a.network)) lines.push_back(std::move(line));
  CSource source = c_source(a.network, exported.name, lines);
  exported.text = std::move(source.source), exported.header = std::move(source.header);
  return exported;
}

}  // namespace trainyard
