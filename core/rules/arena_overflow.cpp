// ArenaOverflow: memory that is full, or nearly.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

std::string reach_sentence(const std::string& device, Bytes most, Bytes of, double share,
                           double limit) {
  return fmt::format("{} holds up to {} of its {}, {}: more than {:g} %", device, readable(most),
                     readable(of), readable_share(share), limit);
}

void find_full_arena(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("share");
  for (const HeldBytes& held : shown.now().held) {
    const double share = held.limit.value > 0 ? held.most / held.limit : 0;
    if (100 * share <= limit) continue;
    const std::string name = fmt::format("device {}", held.device);
    FiredRule found = fired_for(shown, name, 100 * share, limit,
                                reach_sentence(name, held.most, held.limit, share, limit));
    found.device = held.device;
    fired.push_back(std::move(found));
  }
}

void find_full_device(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const double limit = params.number("share");
  for (const DeviceBytes& m : facts.memory) {
    const double share = m.capacity.value > 0 ? m.most / m.capacity : 0;
    if (100 * share > limit)
      fired.push_back(fired_on(m.device, m.name, 100 * share, limit,
                               reach_sentence(m.name, m.most, m.capacity, share, limit),
                               m.most_at));
  }
}

}  // namespace

const Rule& arena_overflow() {
  static const Rule made = {
      .name = "arena-overflow",
      .summary = "a device's memory is nearly full, or more than full",
      .advice = "recomputation, a smaller micro batch, ZeRO, or a device with more memory",
      .reads = RuleReads::Held | RuleReads::Timeline,
      .params = {{"share", 97.0, "share of the memory above which it fires, in %", 0, 1000}},
      .of_run = find_full_arena,
      .of_timeline = find_full_device};
  return made;
}

}  // namespace trainyard
