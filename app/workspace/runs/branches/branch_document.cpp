#include "app/workspace/runs/branches/branch_document.h"

#include <optional>
#include <utility>

#include "core/io/json/fields.h"

namespace trainyard {

std::vector<std::string> group_names(const BranchPass& pass, const OperatorGroup& group) {
  std::vector<std::string> names;
  for (const int one : group) names.push_back(operator_name(pass, one));
  return names;
}

namespace {

using Numbered = std::pair<const BranchPass*, const OperatorStage*>;

Fields<RunSchedule> schedule_fields() {
  return {{"predicted_seconds", [](const RunSchedule& s) { return to_seconds(s.schedule.time); },
           number(), "by the times of its operators"},
          {"measured_seconds",
           [](const RunSchedule& s) {
             return s.measured > Duration{} ? std::optional(to_seconds(s.measured)) : std::nullopt;
           },
           number(), "by the clock, the quickest of the rounds; absent where nothing was run"},
          {"stages",
           [](const RunSchedule& s) { return static_cast<std::int64_t>(s.schedule.stages.size()); },
           whole(1)}};
}

Fields<Numbered> stage_fields() {
  return {{"seconds", [](const Numbered& n) { return to_seconds(n.second->price.time); }, number(),
           "predicted"},
          {"groups",
           [](const Numbered& n) {
             std::vector<std::vector<std::string>> groups;
             for (const OperatorGroup& group : n.second->as_run())
               groups.push_back(group_names(*n.first, group));
             return groups;
           },
           list_of(list_of(text())), "operators, one after another, beside the other groups"}};
}

struct Merged {
  const BranchPass* pass;
  std::size_t merge;
};
Fields<Merged> merge_fields() {
  const auto of = [](const Merged& m) -> const OperatorMerge& {
    return m.pass->graph.merges[m.merge];
  };
  const auto time = [](const Merged& m) {
    return m.pass->times[m.pass->graph.operators.size() + m.merge];
  };
  return {{"name", [of](const Merged& m) { return of(m).name; }},
          {"operators", [of](const Merged& m) { return group_names(*m.pass, of(m).operators); },
           list_of(text())},
          {"flops", [](const Merged& m) { return m.pass->works[m.merge].flops.value; }, number(),
           "with zeros around smaller kernels"},
          {"separate_flops", [](const Merged& m) { return m.pass->apart[m.merge].value; }, number(),
           "of its operators one by one"},
          {"alone_seconds", [time](const Merged& m) { return to_seconds(time(m).alone); }, number(),
           "on one core; as measured, with the copies before and after it"},
          {"beside_seconds", [time](const Merged& m) { return to_seconds(time(m).beside); },
           number(), "while all cores work"}};
}

std::optional<RunSchedule> where_run(const RunSchedule& run) {
  return run.schedule.stages.empty() ? std::nullopt : std::optional(run);
}

Fields<BranchPass> pass_fields() {
  const auto stages = [](const BranchPass& pass) {
    std::vector<Numbered> list;
    for (const OperatorStage& stage : pass.best.schedule.stages) list.push_back({&pass, &stage});
    return list;
  };
  const auto merges = [](const BranchPass& pass) {
    std::vector<Merged> list;
    for (std::size_t i = 0; i < pass.graph.merges.size(); ++i) list.push_back({&pass, i});
    return list;
  };
  const auto found = [](auto member) { return in(&BranchPass::found, member); };
  const auto schedule = object(schedule_fields());
  return {
      {"block", &BranchPass::block},
      {"layers", &BranchPass::layers, whole(0), "of that kind in the model"},
      {"pass", [](const BranchPass& p) { return std::string(direction(p)); },
       one_of({"forward", "backward"})},
      {"operators",
       [](const BranchPass& p) { return static_cast<std::int64_t>(p.graph.operators.size()); },
       whole(2)},
      {"sequential", &BranchPass::sequential, schedule, "one operator after another"},
      {"greedy", &BranchPass::greedy, schedule, "all operators that wait for nothing, at once"},
      {"best", &BranchPass::best, schedule, "by dynamic programming over endings"},
      {"best_stages", stages, list_of(object(stage_fields()))},
      {"states", found(&BestStages::states), whole(0), "sets of operators that were searched"},
      {"endings", found(&BestStages::endings), whole(0), "last stages that were tried for them"},
      {"exact", found(&BestStages::exact), "nothing was cut to keep the search small"},
      {"greedy_is_best", found(&BestStages::greedy), "the limits leave out the greedy one"},
      {"same_bits",
       [](const BranchPass& p) {
         return p.sequential.measured > Duration{} ? std::optional(p.same_bits) : std::nullopt;
       },
       truth(), "all without merged operators leave the same numbers"},
      {"concurrent", [](const BranchPass& p) { return where_run(p.concurrent); }, schedule,
       "the best stages that merge nothing, where both strategies were asked for"},
      {"merged", [](const BranchPass& p) { return where_run(p.merged); }, schedule,
       "the best stages on one core that merge, likewise"},
      {"merged_operators", merges, list_of(object(merge_fields())), kWhereSet,
       "that may run as one"},
      {"merged_difference", &BranchPass::merged_difference, number(), kWhereSet,
       "of the numbers that merged operators leave, over the largest of their tensor"},
      {"handover_seconds_per_byte", &BranchPass::handover, number(), kWhereSet,
       "of a tensor that another core has, as measured on alternating cores"}};
}

Fields<BranchStudy> branch_fields() {
  return document_fields<BranchStudy>(
      "trainyard/branches",
      {{"machine", &BranchStudy::machine},
       {"cores", [](const BranchStudy& s) { return std::int64_t{s.sharing.cores}; }, whole(1)},
       {"join_seconds", [](const BranchStudy& s) { return to_seconds(s.sharing.join); }, number(),
        "of handing groups to other cores and waiting for them"},
       {"rounds", &BranchStudy::rounds, whole(1), kWhereSet, "of each measurement"},
       {"passes", &BranchStudy::passes, list_of(object(pass_fields()))},
       {"strategy", [](const BranchStudy& s) { return std::string(to_string(s.strategy)); },
        one_of({std::begin(kStageStrategies), std::end(kStageStrategies)}), "of the best stages"},
       {"sentences", [](const BranchStudy& s) { return branch_sentences(s); }},
       {"prices", [](const BranchStudy& s) { return std::string(to_string(s.prices)); },
        one_of({std::begin(kOperatorPrices), std::end(kOperatorPrices)}),
        "where the times of operators are from"},
       {"leaves_out", &BranchStudy::leaves_out, list_of(text()), kWhereSet,
        "of prices: what they do not have"}});
}

}  // namespace

Json branches_schema() { return branch_fields().schema(); }

std::string branch_document(const BranchStudy& study) {
  return write_json(branch_fields().write(study));
}

}  // namespace trainyard
