#include "app/workspace/comparison/run_report.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "app/workspace/comparison/comparison.h"
#include "app/workspace/comparison/judged_runs.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

bool is_seed(const std::string& word) {
  const std::string key = word.substr(0, word.find('='));
  return key == "seed" || key.ends_with("-seed");
}

/// A system is all that two of its runs have in common: everything but their seeds.
using System = std::tuple<std::string, std::string, std::string, std::vector<std::string>,
                          std::vector<std::string>>;

System system_of(const RunEntry& entry) {
  std::vector<std::string> training;
  std::copy_if(entry.training.begin(), entry.training.end(), std::back_inserter(training),
               [](const std::string& word) { return !is_seed(word); });
  return {entry.model, entry.cluster, entry.plan, entry.settings, training};
}

ReportRun run_of(const RunEntry& entry, std::optional<double> value) {
  ReportRun run;
  run.id = entry.id;
  std::copy_if(entry.training.begin(), entry.training.end(), std::back_inserter(run.seeds),
               is_seed);
  run.value = value;
  return run;
}

}  // namespace

BenchmarkReport report_of_runs(std::string_view a, std::string_view b, const RunStore& store) {
  const std::vector<RunEntry> all = store.list();
  std::vector<RunScore> scores[2];
  std::vector<System> compared;
  BenchmarkReport report;
  const std::string_view words[] = {a, b};
  for (int side = 0; side < 2; ++side) {
    ReportSystem& system = report.systems.emplace_back();
    system.name = side == 0 ? "A" : "B";
    std::vector<System> own;
    for (const std::int64_t id : runs_named(words[side], store)) {
      const RecordedRun run = store.get(id);
      scores[side].push_back(score_of(run));
      own.push_back(system_of(run.entry));
      if (system.runs.empty()) {
        system.settings = {"model=" + run.entry.model, "cluster=" + run.entry.cluster};
        system.settings.insert(system.settings.end(), run.entry.settings.begin(),
                               run.entry.settings.end());
        for (const std::string& word : run.entry.training)
          if (!is_seed(word)) system.settings.push_back("train." + word);
      }
      system.runs.push_back(run_of(run.entry, {}));
    }
    std::int64_t made = 0;
    for (const RunEntry& entry : all)
      made += std::find(own.begin(), own.end(), system_of(entry)) != own.end() ? 1 : 0;
    system.runs_made = made;
    compared.insert(compared.end(), own.begin(), own.end());
  }
  const std::vector<JudgedFigure> judged = judge(scores[0], scores[1]);
  if (judged.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected runs with a figure that all have, such as an accuracy or a finite loss",
                {"report"});
  const JudgedFigure& figure = judged.front();
  report.metric = figure.key, report.less_is_better = figure.scores.less_is_better;
  report.claim = judged_sentence(figure);
  const RunsVerdict outcome = figure.verdict.outcome;
  if (outcome == RunsVerdict::Better || outcome == RunsVerdict::NotMeaningful)
    report.better = figure.verdict.b_leads() ? "B" : "A";
  // Every other system of the same model that the list has was a trial, whoever it was for.
  std::set<System> tried;
  double spent = 0;
  for (const RunEntry& entry : all) {
    const System system = system_of(entry);
    const bool same_model = std::any_of(compared.begin(), compared.end(), [&](const System& one) {
      return std::get<0>(one) == entry.model;
    });
    if (!same_model || std::find(compared.begin(), compared.end(), system) != compared.end())
      continue;
    tried.insert(system);
    if (entry.step) spent += static_cast<double>(entry.steps) * to_seconds(*entry.step);
  }
  for (int side = 0; side < 2; ++side) {
    report.systems[static_cast<std::size_t>(side)].tuning = {
        static_cast<std::int64_t>(tried.size()), spent, false};
    for (std::size_t i = 0; i < scores[side].size(); ++i)
      report.systems[static_cast<std::size_t>(side)].runs[i].value =
          figure_of(scores[side][i], figure.key);
  }
  report.evaluation = ReportEvaluation{0, scores[0].front().evaluation_samples, 1, true};
  report.axes = {{"runs", figure.title, "linear", false}};
  return report;
}

}  // namespace trainyard
