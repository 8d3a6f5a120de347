#include "app/workspace/runs/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/training/data_source.h"

namespace trainyard {
namespace {

bool drops(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &dropout()) return true;
  return false;
}

/// MSTopK draws too which of the values that it cannot tell apart it sends, but those are hardly
/// ever more than it has places for: a seed of its own would change nothing.
bool rounds(const Plan& plan) { return find_choice(plan, "bf16-sr") != nullptr; }

std::string names_of(const std::vector<RandomSource>& sources) {
  std::string text;
  for (const RandomSource source : sources)
    text += (text.empty() ? "" : ", ") + std::string(to_string(source));
  return text;
}

}  // namespace

std::vector<RandomSource> random_sources_of(const Scenario& scenario, std::string_view data) {
  const DataEntry& entry = data_entry(data.empty() ? default_data(scenario.model) : data);
  std::vector<RandomSource> sources = {RandomSource::Order, RandomSource::Weights};
  if (drops(scenario.model)) sources.push_back(RandomSource::Dropout);
  if (entry.augmented) sources.push_back(RandomSource::Augmentation);
  if (rounds(scenario.plan)) sources.push_back(RandomSource::Rounding);
  if (entry.splits) sources.push_back(RandomSource::Split);
  sources.push_back(RandomSource::Noise);
  return sources;
}

std::vector<RandomSource> read_varied(std::string_view words, const Scenario& scenario,
                                      std::string_view data) {
  const std::vector<RandomSource> there = random_sources_of(scenario, data);
  if (words == "all") return there;
  std::vector<RandomSource> varied;
  while (true) {
    const std::size_t comma = words.find(',');
    const RandomSource source = read_random_source(words.substr(0, comma), {"--vary"});
    if (std::find(varied.begin(), varied.end(), source) != varied.end())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected each source once, found {} twice", to_string(source)),
                  {"--vary"});
    if (std::find(there.begin(), there.end(), source) == there.end())
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format("expected all, or some of {}, which this run can draw at random; found "
                      "{}, which it cannot",
                      names_of(there), to_string(source)),
          {"--vary"});
    varied.push_back(source);
    if (comma == std::string_view::npos) return varied;
    words = words.substr(comma + 1);
  }
}

Training repeat_of(Training training, const std::vector<RandomSource>& varied, std::int64_t index) {
  for (const RandomSource source : varied)
    training.seeds[static_cast<std::size_t>(source)] =
        seed_of(training, source) + static_cast<std::uint64_t>(index);
  return training;
}

ScoreSummary summarise(const std::vector<double>& figures) {
  ScoreSummary summary;
  summary.runs = static_cast<std::int64_t>(figures.size());
  summary.lowest = summary.highest = figures.front();
  double sum = 0, squares = 0;
  for (const double x : figures) {
    sum += x;
    summary.lowest = std::min(summary.lowest, x), summary.highest = std::max(summary.highest, x);
  }
  const auto n = static_cast<double>(figures.size());
  summary.mean = sum / n;
  for (const double x : figures) squares += (x - summary.mean) * (x - summary.mean);
  if (figures.size() > 1) summary.deviation = std::sqrt(squares / (n - 1));
  return summary;
}

}  // namespace trainyard
