// IOBottleneck: steps that wait for their samples.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_waiting(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  if (!(facts.step > Duration{})) return;
  const double share = to_seconds(facts.input_wait) / to_seconds(facts.step),
               limit = params.number("threshold");
  if (100 * share > limit)
    fired.push_back(
        fired_on(-1, "input", 100 * share, limit,
                 fmt::format("a step of {} waits {} for its samples, {} of it: more than "
                             "{:g} %",
                             readable_step(facts.step), readable_step(facts.input_wait),
                             readable_share(share), limit),
                 Instant{}));
}

}  // namespace

const Rule& io_bottleneck() {
  static const Rule made = {
      .name = "io-bottleneck",
      .summary = "steps wait for their samples for a large part of their time",
      .advice =
          "a cache of decoded samples (input=cached), more cores that decode, or a faster disk",
      .reads = RuleReads::Timeline,
      .params = {{"threshold", 50.0, "most share of a step that waits, in %", 0, 100}},
      .of_timeline = find_waiting};
  return made;
}

}  // namespace trainyard
