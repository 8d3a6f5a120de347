#include "app/workspace/quality/gate_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/start_weights.h"
#include "core/base/nearest.h"
#include "core/base/random.h"
#include "core/base/split_list.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "core/model/ops.h"
#include "core/quality/area_under_curve.h"
#include "core/quality/eigenspace_instability.h"
#include "core/training/data/corrupted_data.h"
#include "core/training/data_source.h"
#include "core/training/numbers/boveda.h"
#include "core/training/numbers/vector_scales.h"

namespace trainyard {
namespace {

constexpr std::string_view kSideKeys[] = {"sparsity",  "rank",       "tt-rank",    "bits",
                                          "group",     "scale-bits", "bit-errors", "chips",
                                          "precision", "backend"};

void apply_side_word(GateSide& side, std::string_view word, const Place& place) {
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (apply_lossy(side.loses, key, value, place)) return;
  if (key == "precision") {
    side.precision = std::string(value);
    return;
  }
  if (key == "backend" && (value == "cpu" || value == "reference")) {
    side.reference = value == "reference";
    return;
  }
  if (key == "backend")
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected cpu or reference, found \"{}\"{}", value.substr(0, 80),
                            did_you_mean(value.substr(0, 80), {"cpu", "reference"})),
                place);
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected a checkpoint, or {} and a value, found \"{}\"{}",
                          fmt::join(kSideKeys, ", "), word.substr(0, 80),
                          did_you_mean(key.substr(0, 80), kSideKeys)),
              place);
}

// A plan on one core, in which a side's answers are computed.
ExperimentPtr plan_of(const Scenario& asked, const GateSide& side) {
  Scenario scenario{asked.model, local_cluster(1, asked.cluster.device.memory.value), {}};
  scenario.plan.batch = asked.plan.batch;
  const std::string precision = side.precision.empty() ? "fp32" : side.precision;
  apply_setting(scenario.plan, "precision", precision, Place{side.words});
  return predict_training(scenario, Training{}, nullptr);
}

struct SideOfGate {
  const GateSide& asked;
  ExperimentPtr plan;
  std::vector<TrainedTensor> weights;
  double bytes = 0;
  std::optional<LosslessBytes> lossless = {};
  std::optional<double> decibels = {};
};

// Chips that judge are others than those that a training draws.
std::uint64_t chip_seed(std::uint64_t seed, std::int64_t chip) {
  constexpr std::uint64_t kChips = 0xc419;
  return Random(seed, kChips).bits(static_cast<std::uint64_t>(chip));
}

std::optional<LosslessBytes> lossless_bytes(const LossyWeights& loses, const Model& model,
                                            const std::vector<TrainedTensor>& weights) {
  const auto found = lossless_weights(loses, model, weights);
  if (!found) return std::nullopt;
  return LosslessBytes{found->bytes, found->ratio, found->worst_ratio};
}

LosslessTensor packed(std::string name, bool activation, std::span<const float> numbers) {
  const BovedaTensor tensor = boveda_encode(eight_bit_codes(numbers));
  return {std::move(name), activation, tensor.count, tensor.ratio(), tensor.worst_ratio()};
}

std::string words_without_rate(const GateSide& side) {
  std::string words;
  for (const std::string_view word : split_list(side.words))
    if (!word.starts_with("bit-errors=")) words += (words.empty() ? "" : ",") + std::string(word);
  return words;
}

// Without errors all chips are alike.
std::int64_t chips_of(const LossyWeights& loses) {
  return loses.bit_errors.value_or(0) > 0 ? loses.chips : 1;
}

// A model whose weights are codes keeps them in the device's memory, with the errors that it has.
// Throws Error{InvalidInput} where codes have groups, which nobody keeps in such a memory.
GateSide in_memory_of(const Device& device, GateSide side) {
  LossyWeights& loses = side.loses;
  const double rate = device.bit_errors.value;
  if (rate == 0 || loses.bits == 0 || loses.bit_errors) return side;
  loses.bit_errors = rate;
  expect_consistent(loses, Place{side.words});
  side.words += fmt::format(",bit-errors={}", rate);
  return side;
}

// The signal of all matrices together over what they lost; nothing where they lost nothing.
std::optional<double> decibels_of(const std::vector<TrainedTensor>& whole,
                                  const std::vector<TrainedTensor>& lossy) {
  std::vector<float> exact, left;
  for (std::size_t t = 0; t < whole.size(); ++t) {
    if (!is_matrix(whole[t])) continue;
    exact.insert(exact.end(), whole[t].values.begin(), whole[t].values.end());
    left.insert(left.end(), lossy[t].values.begin(), lossy[t].values.end());
  }
  const double found = signal_to_noise(exact, left);
  return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

// A scale a channel, and every size of vector with every scale.
std::vector<VectorNoise> vector_noise(int bits, const Model& model,
                                      const std::vector<TrainedTensor>& weights) {
  constexpr std::int64_t kVectors[] = {4, 8, 16, 32, 64, 128};
  constexpr int kScales[] = {0, 3, 4, 6, 8};
  std::vector<VectorNoise> found;
  const auto add = [&](std::int64_t vector, int scale_bits) {
    std::vector<TrainedTensor> rounded = weights;
    lose({.bits = bits, .group = vector, .scale_bits = scale_bits}, model, rounded);
    if (const auto decibels = decibels_of(weights, rounded))
      found.push_back({bits, vector, scale_bits, *decibels});
  };
  add(0, 0);
  for (const int scale_bits : kScales)
    for (const std::int64_t vector : kVectors) add(vector, scale_bits);
  return found;
}

SideOfGate open_side(const GateQuestion& q, const GateSide& side, const DataSource& data) {
  SideOfGate open{side, plan_of(q.scenario, side), {}, 0};
  const Model& model = open.plan->workload.scenario.model;
  // Weights by the names and shapes of the model, whatever plan has trained them.
  GateSide plain = side;
  plain.precision.clear();
  const ExperimentPtr whole = side.precision.empty() ? open.plan : plan_of(q.scenario, plain);
  const Training training;
  CpuOptions options;
  options.record_timeline = false;
  options.memory_limit = q.scenario.cluster.device.memory.value;
  open.weights =
      CpuBackend({whole->workload, whole->program, whole->prices, &training, &data}, options)
          .parameters();
  if (side.file != kInitialWeights)
    open.weights = whole_start_weights(side.file, model, std::move(open.weights));
  open.bytes = lossy_bytes(side.loses, model, open.weights);
  const std::vector<TrainedTensor> whole_weights = open.weights;
  lose(side.loses, model, open.weights);
  if (side.loses.bits > 0) open.decibels = decibels_of(whole_weights, open.weights);
  open.lossless = lossless_bytes(side.loses, model, open.weights);
  return open;
}

// Tables of which embeddings take rows.
std::vector<GatedTable> compare_tables(const Model& model, const SideOfGate& first,
                                       const SideOfGate& second) {
  std::vector<GatedTable> tables;
  int layer = 0;
  for (const Block& block : model.blocks) {
    for (const Node& node : block.graph.nodes) {
      if (node.op != &embedding()) continue;
      for (const TensorId input : node.inputs) {
        const Tensor& tensor = block.graph[input];
        if (tensor.kind != TensorKind::Parameter) continue;
        const auto find = [&](const std::vector<TrainedTensor>& all) {
          return std::find_if(all.begin(), all.end(), [&](const TrainedTensor& t) {
            return t.layer == layer && t.name == tensor.name;
          });
        };
        const auto one = find(first.weights), other = find(second.weights);
        if (one == first.weights.end() || other == second.weights.end()) continue;
        const auto table = [](const TrainedTensor& t) {
          return EmbeddingTable{t.shape[0], t.shape[1], t.values};
        };
        const EmbeddingTable a = table(*one), b = table(*other);
        tables.push_back(
            {block.name + " " + tensor.name, a.rows, a.width, eigenspace_instability(a, b, a, b)});
      }
    }
    layer += block.count;
  }
  return tables;
}

}  // namespace

GateSide read_gate_side(std::string_view words, const std::string& of, const Place& place) {
  GateSide side{std::string(words), of};
  bool first = true;
  std::set<std::string_view> keys;
  for (const std::string_view word : split_list(words)) {
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      apply_side_word(side, word, place);
      if (const std::string_view key = word.substr(0, equals); !keys.insert(key).second)
        throw Error(Error::Kind::InvalidInput,
                    fmt::format("expected each key once, found {} twice", key), place);
    } else if (first && !word.empty())
      side.file = std::string(word);
    else
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a key and a value, as bits=4, after each comma, found "
                              "\"{}\"",
                              word.substr(0, 80)),
                  place);
    first = false;
  }
  expect_consistent(side.loses, place);
  if (side.file.empty())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a checkpoint of run, as a.ckpt, found \"{}\"",
                            side.words.substr(0, 80)),
                place);
  return side;
}

std::vector<double> read_error_rates(std::string_view text, const Place& place) {
  std::vector<double> rates;
  for (const std::string_view word : split_list(text)) {
    const bool percent = word.ends_with('%');
    const double rate =
        parse_number(percent ? word.substr(0, word.size() - 1) : word, place) / (percent ? 100 : 1);
    if (!(rate >= 0 && rate <= 1))
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected rates from 0 to 1, as 0.001,0.01 or 2.5%, found \"{}\"",
                              word.substr(0, 80)),
                  place);
    rates.push_back(rate);
  }
  if (rates.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected rates from 0 to 1, as 0.001,0.01 or 2.5%, found none", place);
  return rates;
}

std::vector<GateSide> at_error_rates(const std::vector<GateSide>& models,
                                     const std::vector<double>& rates, const Place& place) {
  std::vector<GateSide> all;
  bool any = false;
  for (const GateSide& model : models) {
    if (model.loses.bits == 0 || model.loses.group > 0) {
      all.push_back(model);
      continue;
    }
    any = true;
    for (const double rate : rates) {
      GateSide& one = all.emplace_back(model);
      one.loses.bit_errors = rate;
      one.words = fmt::format("{},bit-errors={}", words_without_rate(model), rate);
    }
  }
  if (!any)
    throw Error(Error::Kind::InvalidInput,
                "bit errors flip bits of codes, found no model of few bits; add bits=8", place);
  return all;
}

std::vector<Corruption> usual_corruptions(const Model& model) {
  std::vector<Corruption> usual;
  for (const Corruption& one :
       {Corruption{CorruptionKind::Noise, 0.5}, Corruption{CorruptionKind::Shift, 2},
        Corruption{CorruptionKind::Contrast, 0.5}, Corruption{CorruptionKind::Replace, 0.1}})
    if (!has_errors(check_corruption(model, one, {}))) usual.push_back(one);
  return usual;
}

GateReport gate_study(const GateQuestion& q) {
  const Model& model = q.scenario.model;
  for (const Corruption& corruption : q.corruptions)
    throw_if_errors(check_corruption(model, corruption, {"--on " + to_text(corruption)}));
  const std::string name(q.data.empty() ? default_data(model) : q.data);
  const std::unique_ptr<DataSource> data = open_data(name, DataSeeds(q.seed));
  throw_if_errors(data->check(model));
  std::vector<std::unique_ptr<CorruptedData>> corrupted;
  std::vector<const DataSource*> sources = {data.get()};
  for (const Corruption& corruption : q.corruptions) {
    corrupted.push_back(std::make_unique<CorruptedData>(*data, corruption, q.seed));
    sources.push_back(corrupted.back().get());
  }
  GateReport report;
  report.model = model.name, report.reference = q.reference.words, report.limits = q.limits;
  report.data = std::string(data->name()) + ": " + data->provenance();
  for (std::size_t t = 0; t < sources.size(); ++t)
    report.tasks.push_back({t == 0 ? "clean" : to_text(q.corruptions[t - 1])});

  std::size_t asked = sources.size();
  for (const GateSide& side : q.models)
    asked += sources.size() * static_cast<std::size_t>(chips_of(side.loses));
  double done = 0;
  const auto answer = [&](const SideOfGate& side, const std::vector<TrainedTensor>& weights,
                          std::size_t task, AnswerMaths maths = {}) {
    if (q.progress) q.progress(done++ / static_cast<double>(asked));
    maths.in_precision = !side.asked.precision.empty(), maths.reference = side.asked.reference;
    return answers(side.plan->workload, weights, *sources[task], q.samples, maths, q.stop);
  };
  const SideOfGate reference = open_side(q, q.reference, *data);
  report.reference_bytes = reference.bytes;
  AnswerMaths shows;
  if (q.vector_bits > 0) report.vectors = vector_noise(q.vector_bits, model, reference.weights);
  if (q.lossless) {
    for (const TrainedTensor& tensor : reference.weights)
      if (is_matrix(tensor))
        report.tensors.push_back(
            packed(fmt::format("{} of layer {}", tensor.name, tensor.layer), false, tensor.values));
    shows.seen = [&](const std::string& tensor, std::span<const float> numbers) {
      report.tensors.push_back(packed(tensor, true, numbers));
    };
  }
  std::vector<ModelAnswers> by_reference;
  std::vector<std::vector<std::int32_t>> environments;
  for (std::size_t t = 0; t < sources.size(); ++t) {
    by_reference.push_back(answer(reference, reference.weights, t, t == 0 ? shows : AnswerMaths{}));
    environments.push_back(by_reference[t].answers);
    report.tasks[t].questions = static_cast<std::int64_t>(by_reference[t].answers.size());
    report.tasks[t].accuracy = by_reference[t].accuracy();
    report.tasks[t].loss = by_reference[t].loss;
    if (!by_reference[t].scores.empty())
      report.tasks[t].area = area_under_curve(by_reference[t].scores, by_reference[t].labels);
  }
  const std::vector<std::int32_t>& labels = by_reference.front().labels;
  report.reference_across = instability_across(environments, labels);
  for (const GateSide& asked_side : q.models) {
    const GateSide side = in_memory_of(q.scenario.cluster.device, asked_side);
    const SideOfGate open = open_side(q, side, *data);
    GatedModel& gated = report.models.emplace_back();
    gated.name = side.words, gated.bytes = open.bytes, gated.lossless = open.lossless;
    gated.decibels = open.decibels;
    gated.losses.resize(sources.size());
    const std::int64_t chips = chips_of(side.loses);
    std::vector<std::vector<double>> errors(sources.size());
    for (std::int64_t chip = 0; chip < chips; ++chip) {
      std::vector<TrainedTensor> weights = open.weights;
      if (side.loses.bit_errors) flip_bits(side.loses, chip_seed(q.seed, chip), weights);
      for (std::size_t t = 0; t < sources.size(); ++t) {
        ModelAnswers found = answer(open, weights, t);
        const JudgedAnswers judged =
            judge_answers(by_reference[t].answers, found.answers, found.labels);
        if (chip == 0)
          gated.tasks.push_back(judged);
        else
          add_answers(gated.tasks[t], judged);
        errors[t].push_back(1 - found.accuracy());
        if (chip == 0 && !found.scores.empty())
          gated.areas.push_back(area_under_curve(found.scores, found.labels));
        gated.losses[t] += found.loss / static_cast<double>(chips);
        environments[t] = std::move(found.answers);
      }
      gated.across += instability_across(environments, labels) / static_cast<double>(chips);
    }
    if (side.loses.bit_errors) {
      gated.chips = GatedChips{words_without_rate(side), *side.loses.bit_errors, chips, {}};
      for (const std::vector<double>& of_task : errors)
        gated.chips->tasks.push_back(chip_errors(of_task));
    }
    gated.tables = compare_tables(model, reference, open);
  }
  judge(report);
  return report;
}

}  // namespace trainyard
