#include "app/workspace/runs/run_scores.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/io/json/json.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

std::optional<double> mean_of_last_tenth(const JsonCursor& losses) {
  const std::vector<JsonCursor> all = losses.items();
  const std::size_t last = std::max<std::size_t>(1, all.size() / 10);
  double sum = 0;
  for (std::size_t i = all.size() - std::min(last, all.size()); i < all.size(); ++i) {
    if (all[i].value().is_null()) return std::nullopt;
    sum += all[i].number();
  }
  if (all.empty()) return std::nullopt;
  return sum / static_cast<double>(last);
}

std::optional<double> figure(const JsonCursor& object, std::string_view key) {
  if (!object.has(key) || object.at(key).value().is_null()) return std::nullopt;
  return object.at(key).number();
}

}  // namespace

RunScore score_of(const RecordedRun& run) {
  const std::string source = "run " + std::to_string(run.entry.id);
  Training training;
  for (const std::string& word : run.entry.training) apply_training(training, word, {source});
  RunScore score;
  score.id = run.entry.id, score.started = run.entry.started;
  score.seed = training.seed, score.seeds = training.seeds;
  const Json json = read_document(run.document, "trainyard/run", source);
  const JsonCursor document(json, source);
  score.loss = mean_of_last_tenth(document.at("loss"));
  score.step = figure(document, "step_seconds");
  if (!document.has("evaluation")) return score;
  const JsonCursor evaluation = document.at("evaluation");
  if (evaluation.has("samples")) score.evaluation_samples = evaluation.at("samples").integer();
  score.accuracy = figure(evaluation, "accuracy");
  score.evaluation_loss = figure(evaluation, "loss");
  score.mean_return = figure(evaluation, "mean_return");
  return score;
}

std::vector<double> losses_of(const RecordedRun& run) {
  const std::string source = "run " + std::to_string(run.entry.id);
  const Json json = read_document(run.document, "trainyard/run", source);
  std::vector<double> losses;
  for (const JsonCursor& loss : JsonCursor(json, source).at("loss").items())
    losses.push_back(loss.value().is_null() ? std::nan("") : loss.number());
  return losses;
}

}  // namespace trainyard
