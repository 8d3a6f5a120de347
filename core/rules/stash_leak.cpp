// StashLeak: memory that steps take and do not give back.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// Between two steps a device holds weights, their optimizer's state and nothing that grows.
void find_growth(const Params& params, const RunShown& shown, FiredRules& fired) {
  const auto looks = static_cast<std::size_t>(params.integer("looks"));
  if (shown.looks.size() < looks) return;
  for (const HeldBytes& held : shown.now().held) {
    std::vector<Bytes> of;
    for (auto look = shown.looks.end() - static_cast<std::ptrdiff_t>(looks);
         look != shown.looks.end(); ++look)
      for (const HeldBytes& one : look->held)
        if (one.device == held.device && one.peer == held.peer) of.push_back(one.now);
    const bool grows = of.size() == looks &&
                       std::adjacent_find(of.begin(), of.end(),
                                          [](Bytes a, Bytes b) { return b <= a; }) == of.end();
    if (!grows) continue;
    const Bytes more = of.back() - of.front();
    FiredRule found =
        fired_for(shown, fmt::format("device {}", held.device), static_cast<double>(more.value), 0,
                  fmt::format("device {} holds {} between two steps, {} more than {} looks before",
                              held.device, readable(of.back()), readable(more), looks - 1));
    found.device = held.device;
    fired.push_back(std::move(found));
  }
}

void find_kept(const Params&, const TimelineFacts& facts, FiredRules& fired) {
  for (const DeviceBytes& m : facts.memory)
    if (m.kept.value > 0)
      fired.push_back(fired_on(m.device, m.name, static_cast<double>(m.kept.value), 0,
                               fmt::format("{} ends its step with {} of activations and messages "
                                           "that it did not begin with",
                                           m.name, readable(m.kept))));
}

}  // namespace

const Rule& stash_leak() {
  static const Rule made = {
      .name = "stash-leak",
      .summary = "activations or weight versions are kept beyond their step",
      .advice = "an order of work in which every forward has its backward",
      .reads = RuleReads::Held | RuleReads::Timeline,
      .params = {{"looks", std::int64_t{3},
                  "looks in a row that each hold more than the one before", 2, 10}},
      .of_run = find_growth,
      .of_timeline = find_kept};
  return made;
}

}  // namespace trainyard
