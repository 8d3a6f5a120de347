#include "app/cli/text/runs/branch_text.h"

#include <algorithm>
#include <utility>

#include "app/cli/text/lines.h"
#include "app/workspace/runs/branches/branch_document.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string both(const RunSchedule& one) {
  if (one.measured <= Duration{}) return readable(one.schedule.time);
  return fmt::format("{} {:+.0f} %", readable(one.measured),
                     100 * (to_seconds(one.schedule.time) / to_seconds(one.measured) - 1));
}

// Stages of one group that follow each other are one line.
void list_stages(Out& out, const BranchPass& pass) {
  line(out, "\nstages of the {} of {}, by predicted time", direction(pass), pass.block);
  const std::vector<OperatorStage>& stages = pass.best.schedule.stages;
  for (std::size_t i = 0; i < stages.size();) {
    Duration time{};
    std::vector<std::string> names;
    std::size_t end = i;
    for (; end < stages.size() && stages[end].as_run().size() == 1; ++end) {
      time += stages[end].price.time;
      for (std::string& name : group_names(pass, stages[end].as_run().front()))
        names.push_back(std::move(name));
    }
    if (end > i) {
      line(out, "  {:>10}  {}", readable(time), fmt::join(names, ", "));
    } else {
      std::string took = readable(stages[i].price.time);
      for (const OperatorGroup& group : stages[i].as_run())
        line(out, "  {:>10}  | {}", std::exchange(took, ""),
             fmt::join(group_names(pass, group), ", "));
      ++end;
    }
    i = end;
  }
}

}  // namespace

std::string branch_text(const BranchStudy& study, const BranchPass* shown) {
  Out out;
  line(out, "{} of {}: operators of a layer beside each other{}, {}",
       study.sharing.cores == 1 ? "one core" : fmt::format("{} cores", study.sharing.cores),
       study.machine, study.strategy == StageStrategy::Concurrent ? "" : " or as one",
       study.measured() ? fmt::format("the quickest of {} rounds", study.rounds)
                        : fmt::format("by {} prices", to_string(study.prices)));
  if (study.measured())
    line(out,
         "measured by the clock, and how far the prediction from times of single operators, and of "
         "what cores hand each other, is off; a join takes {}",
         readable(study.sharing.join));
  line(out, "");
  // Two more columns where both strategies were tried apart.
  const bool apart =
      std::any_of(study.passes.begin(), study.passes.end(),
                  [](const BranchPass& pass) { return !pass.merged.schedule.stages.empty(); });
  const auto columns = [&](const std::string& concurrent, const std::string& merged) {
    return apart ? fmt::format(" {:>18} {:>18}", concurrent, merged) : "";
  };
  line(out, "{:<16} {:<8} {:>6} {:>4} {:>18} {:>18}{} {:>18} {:>6} {:>7} {:>8}", "layer", "pass",
       "layers", "ops", "sequential", "greedy", columns("concurrent", "merged"), "best stages",
       "gain", "stages", "states");
  for (const BranchPass& pass : study.passes) {
    const bool tried = !pass.merged.schedule.stages.empty();
    line(out, "{:<16} {:<8} {:>6} {:>4} {:>18} {:>18}{} {:>18} {:>6.2f} {:>7} {:>8}{}", pass.block,
         direction(pass), pass.layers, pass.graph.operators.size(), both(pass.sequential),
         both(pass.greedy),
         columns(tried ? both(pass.concurrent) : "", tried ? both(pass.merged) : ""),
         both(pass.best), gain_of(pass), pass.best.schedule.stages.size(), pass.found.states,
         pass.found.exact ? "" : "  searched in parts");
  }
  if (shown != nullptr) list_stages(out, *shown);
  line(out, "");
  for (const std::string& sentence : branch_sentences(study)) line(out, "{}", sentence);
  return out;
}

}  // namespace trainyard
