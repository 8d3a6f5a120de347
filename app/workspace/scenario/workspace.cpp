#include "app/workspace/scenario/workspace.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "app/workspace/scenario/concurrent_operators.h"
#include "app/workspace/scenario/fixes.h"
#include "app/workspace/scenario/offloaded_layers.h"
#include "app/workspace/scenario/published.h"
#include "app/workspace/scenario/ramp_prices.h"
#include "app/workspace/scenario/recompute.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/cluster/price.h"
#include "core/estimate/evaluation_time.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/documents/plan_json.h"
#include "core/io/json/inline_document.h"
#include "core/io/models/load_model.h"
#include "core/methods/data/evaluation.h"
#include "core/methods/settings/settings.h"
#include "core/plan/balanced.h"
#include "planners/partition/balanced_split.h"

namespace trainyard {
namespace {

// A word that cannot be a file's name is taken for a name of the catalogue, so that a misspelling
// is answered with the nearest name.
bool looks_like_path(const std::string& word) {
  if (word.find('/') != std::string::npos || word == "." || word == "..") return true;
  struct stat facts{};
  return stat(word.c_str(), &facts) == 0 ||
         (word.size() > 5 && word.substr(word.size() - 5) == ".json");
}

Model open_model(const std::string& word) {
  if (word.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected a model: a name of \"trainyard models\", a config.json or its folder",
                {"--model"});
  const auto load = [&] { return with_place("--model", [&] { return load_model(word); }); };
  if (is_inline_document(word)) return load();
  if (const auto id = published_id(word)) {
    const PreparedRow& row = published_row(*id);
    Model model = row.workload.scenario.model;
    for (std::string& sentence : assumed_sentences(row))
      model.assumed.push_back(std::move(sentence));
    return model;
  }
  return load();
}

Cluster open_cluster(const std::string& words) {
  if (words.empty())
    throw Error(Error::Kind::InvalidInput, "expected a cluster such as h100-sxm:64", {"--cluster"});
  if (is_inline_document(words)) return read_cluster(words, "cluster");
  if (const auto id = published_id(words)) return published_row(*id).workload.scenario.cluster;
  const bool path = words.find(':') == std::string::npos && looks_like_path(words);
  return path ? read_cluster(read_file(words), words) : parse_cluster(words);
}

// Opens a published plan without its data-parallel degree, which follows, so that a single setting
// of it can be changed.
Plan open_plan(const std::string& word) {
  const auto id = published_id(word);
  if (!id) return read_plan(word);
  Plan plan = published_row(*id).workload.scenario.plan;
  plan.mesh.dp.reset();
  return plan;
}

}  // namespace

Scenario open(const Request& request) {
  // Each call throws for what is not named, the model first.
  if (request.model.empty() || request.cluster.empty()) open_model(request.model);
  if (request.cluster.empty()) open_cluster(request.cluster);
  return open_named(request);
}

bool gives_micro_batch(const Request& request) {
  for (const std::string& words : request.settings)
    for (const std::string_view word : each_word(words)) {
      const Setting* found = find_setting(word.substr(0, word.find('=')));
      if (found != nullptr && found->key == "micro-batch") return true;
    }
  if (request.plan.empty()) return false;
  if (const auto id = published_id(request.plan)) {
    const std::vector<Assumption>& open = published_row(*id).assumptions;
    return std::none_of(open.begin(), open.end(),
                        [](const Assumption& a) { return a.setting == "micro-batch"; });
  }
  const Json plan = parse_json(read_file(request.plan), request.plan);
  const Json* batch = plan.find("batch");
  return batch != nullptr && batch->find("micro") != nullptr;
}

Scenario open_named(const Request& request) {
  Scenario scenario;
  if (!request.model.empty()) scenario.model = open_model(request.model);
  if (!request.cluster.empty()) scenario.cluster = open_cluster(request.cluster);
  if (!request.cluster.empty() && request.price)
    scenario.cluster =
        with_place("--price", [&] { return with_price(scenario.cluster, *request.price); });
  if (!request.plan.empty()) scenario.plan = open_plan(request.plan);
  RecomputeWords last;  // what the last words about recomputation say
  for (const std::string& words : request.settings) {
    const RecomputeWords split = split_recompute_words(words);
    if (split.said) last = split;
    if (!split.said || !split.others.empty())
      apply_words(scenario.plan, split.said ? split.others : words);
  }
  const bool balanced = is_balanced_later(scenario.plan.split);
  const bool staged = asks_for_stages(scenario.plan), layered = asks_for_layers(scenario.plan);
  if ((!balanced && !last.optimal && !staged && !layered) || request.model.empty() ||
      request.cluster.empty())
    return scenario;
  const auto prices = [&] {
    return request.calibration.empty() ? cost_model(scenario)
                                       : open_cost_model(request.calibration, scenario);
  };
  const int cores = staged ? take_question(scenario.plan) : 1;
  if (balanced) scenario.plan.split = balanced_split(scenario, *prices());
  if (last.optimal) choose_recompute(scenario, *prices(), last.budget);
  if (layered) choose_offloaded_layers(scenario, *prices());
  if (staged) choose_operator_stages(scenario, *prices(), cores);
  return scenario;
}

ExperimentPtr simulate(const Scenario& scenario, const SimulateOptions& options) {
  const std::shared_ptr<Experiment> experiment = run_once(scenario, {.grain = options.grain,
                                                                     .cost = options.cost,
                                                                     .program = options.program,
                                                                     .stop = options.stop});
  if (evaluation_of(experiment->workload.scenario.plan))
    experiment->result.evaluation = evaluation_cost(
        experiment->workload, options.cost != nullptr ? *options.cost : *cost_model(scenario),
        experiment->result.step);
  if (options.ramp && options.program == nullptr)
    price_ramp(experiment->result, scenario, [&](const Scenario& one) {
      return run_once(one, {.grain = options.grain, .cost = options.cost, .stop = options.stop})
          ->result;
    });
  if (options.fixes) {
    if (options.program == nullptr)
      price_changes(scenario, *experiment, options.cost, options.stop);
    experiment->result.assumptions =
        assumed(scenario, experiment->result.step.value, options.cost, options.micro_batch_given);
  }
  return experiment;
}

}  // namespace trainyard
