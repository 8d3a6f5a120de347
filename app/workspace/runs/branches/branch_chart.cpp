#include "app/workspace/runs/branches/branch_chart.h"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

StagedSchedule staged(const BranchStudy& study, const BranchPass& pass, std::string_view name,
                      const RunSchedule& run) {
  StagedSchedule made;
  made.name = name;
  made.stages = static_cast<int>(run.schedule.stages.size());
  made.predicted = run.schedule.time, made.measured = run.measured;
  Instant start{};
  for (std::size_t i = 0; i < run.schedule.stages.size(); ++i) {
    const OperatorStage& stage = run.schedule.stages[i];
    for (const OperatorSpan& span : operator_spans(stage.as_run(), pass.times, study.sharing)) {
      made.operators.push_back(
          {span.op, span.core, static_cast<int>(i), start + span.start, start + span.end});
      made.cores = std::max(made.cores, span.core + 1);
    }
    start += stage.price.time;
    made.ends.push_back(start);
  }
  return made;
}

}  // namespace

StagesModel stages_model(const BranchStudy& study, const BranchPass& pass) {
  StagesModel model;
  model.title = (pass.backward ? "Backward of " : "Forward of ") + pass.block;
  for (std::size_t i = 0; i < pass.graph.operators.size(); ++i)
    model.operators.push_back({pass.graph.operators[i].name, pass.parts[i]});
  for (const OperatorMerge& merge : pass.graph.merges)
    model.operators.push_back({merge.name,
                               pass.parts[static_cast<std::size_t>(merge.operators.front())],
                               merge.operators});
  for (const auto& [name, run] : schedules_of(pass))
    model.schedules.push_back(staged(study, pass, name, *run));
  return model;
}

DataTable branch_table(const BranchStudy& study) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const BranchPass& pass : study.passes) {
    std::vector<DataCell> row = {
        pass.block,    std::string(direction(pass)),
        pass.layers,   static_cast<std::int64_t>(pass.graph.operators.size()),
        gain_of(pass), static_cast<std::int64_t>(pass.best.schedule.stages.size())};
    const auto add = [&](const RunSchedule& run) {
      row.push_back(run.measured > Duration{} ? DataCell(run.measured.count()) : DataCell());
      row.push_back(run.schedule.stages.empty() ? DataCell() : DataCell(run.schedule.time.count()));
    };
    for (const RunSchedule* run : {&pass.sequential, &pass.greedy, &pass.best}) add(*run);
    row.emplace_back(pass.found.states);
    row.emplace_back(std::string(pass.found.exact ? "whole" : "in parts"));
    for (const RunSchedule* run : {&pass.concurrent, &pass.merged}) add(*run);
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back(std::move(row));
  }
  return listed_table("Passes of layers",
                      {{"layer", DataUnit::Words},
                       {"pass", DataUnit::Words},
                       {"layers", DataUnit::Count},
                       {"operators", DataUnit::Count},
                       {"times as fast", DataUnit::Rate},
                       {"stages", DataUnit::Count},
                       {"one after another", DataUnit::Time},
                       {"one after another, predicted", DataUnit::Time},
                       {"greedy", DataUnit::Time},
                       {"greedy, predicted", DataUnit::Time},
                       {"best", DataUnit::Time},
                       {"best, predicted", DataUnit::Time},
                       {"states", DataUnit::Count},
                       {"searched", DataUnit::Words},
                       {"concurrent", DataUnit::Time},
                       {"concurrent, predicted", DataUnit::Time},
                       {"merged", DataUnit::Time},
                       {"merged, predicted", DataUnit::Time}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
