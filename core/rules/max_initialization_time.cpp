// MaxInitializationTime: a run that takes long to begin.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_late_start(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  if (!facts.first_step) return;
  const double found = to_seconds(*facts.first_step) / 60, limit = params.number("minutes");
  if (found > limit)
    fired.push_back(
        fired_on(-1, "first step", found, limit,
                 fmt::format("the first step begins {:.1f} minutes after the run, later "
                             "than {:g} minutes",
                             found, limit),
                 facts.first_step));
}

}  // namespace

const Rule& max_initialization_time() {
  static const Rule made = {
      .name = "max-initialization-time",
      .summary = "the first step begins long after the run",
      .advice =
          "data and checkpoints that are read when they are needed, and compiled kernels that "
          "are kept",
      .reads = RuleReads::Timeline,
      .params = {{"minutes", 20.0, "latest begin of the first step, in minutes", 0, 1e6}},
      .of_timeline = find_late_start};
  return made;
}

}  // namespace trainyard
