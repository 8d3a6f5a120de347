#include "core/lowering/edited_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/lowering/workload.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

// The longest delay of a lane that is accepted.
constexpr Duration kLongestDelay = std::chrono::hours(1);

std::optional<std::string> wrong_device(const Order& order, const ScheduleShape& shape) {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int16_t> wave_of;  // by stage, microbatch
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions) {
      const bool copied = copies(shape.placement) > 1;
      if (a.wave < 0 || (copied && a.wave >= copies(shape.placement)))
        return fmt::format("{} uses copy {} of its stage, of which there are {}", to_text(a),
                           a.wave, copies(shape.placement));
      const DeviceId home =
          device_of(a.stage, shape.devices, shape.stages, shape.placement, copied ? a.wave : 0);
      if (home != lane.device)
        return fmt::format("{} runs on d{}, but stage {} is on d{}", to_text(a), lane.device.value,
                           a.stage.value, home.value);
      if (a.phase == Phase::Update) continue;
      const auto [entry, is_new] = wave_of.try_emplace({a.stage.value, a.microbatch}, a.wave);
      if (!is_new && entry->second != a.wave)
        return fmt::format("{} is of another wave than the rest of its microbatch on stage {}",
                           to_text(a), a.stage.value);
    }
  return {};
}

std::optional<std::string> wrong_delay(const Order& order) {
  for (const Lane& lane : order.lanes)
    if (lane.delay > kLongestDelay)
      return fmt::format("d{}/{} begins after {} ns, more than the hour that is laid out",
                         lane.device.value, lane.name, lane.delay.count());
  return {};
}

// The update that writes a version of a stage, by the lane in which it is.
using Writers = std::map<std::pair<std::uint32_t, std::int16_t>, std::map<std::size_t, Action>>;

// Makes each action that reads weights wait for the update that writes them: of its own lane, else
// of any.
std::optional<std::string> wait_for_versions(Order& order) {
  Writers writers;
  for (std::size_t l = 0; l < order.lanes.size(); ++l)
    for (const Action& a : order.lanes[l].actions)
      if (a.phase == Phase::Update) writers[{a.stage.value, a.weights}].try_emplace(l, a);
  for (std::size_t l = 0; l < order.lanes.size(); ++l)
    for (const Action& a : order.lanes[l].actions) {
      if (a.phase == Phase::Update || a.weights == 0) continue;
      const auto found = writers.find({a.stage.value, a.weights});
      if (found == writers.end())
        return fmt::format("{} reads version {} of the weights, which no update writes", to_text(a),
                           a.weights);
      const auto own = found->second.find(l);
      const Action& update =
          own != found->second.end() ? own->second : found->second.begin()->second;
      order.precedences.push_back({update, a});
    }
  return {};
}

std::optional<std::string> wrong_updates(const Order& order, const ScheduleShape& shape,
                                         std::string_view schedule, bool asynchronous) {
  if (has_updates(order) != asynchronous)
    return asynchronous
               ? fmt::format("{} updates weights within its order, and this one has no updates",
                             schedule)
               : fmt::format(
                     "{} updates weights after its order, and this one has updates of its "
                     "own",
                     schedule);
  if (const int steps = steps_of(order, shape.microbatches); asynchronous && steps != shape.steps)
    return fmt::format("it covers {} steps, and {} is laid out for {}", steps, schedule,
                       shape.steps);
  return {};
}

// The first error, as a sentence.
std::optional<std::string> wrong(const Scenario& s, Order order) {
  const ScheduleShape shape = schedule_shape(s);
  const Method& schedule = schedule_of(s.plan);
  const bool asynchronous = shape.steps > 1;  // waves that sum their gradients are not
  if (auto found = wrong_updates(order, shape, schedule.name, asynchronous)) return found;
  if (auto found = wrong_delay(order)) return found;
  for (const Diagnostic& d : check(order, shape))
    if (d.severity == Diagnostic::Severity::Error) return d.message;
  if (auto found = wrong_device(order, shape)) return found;
  if (auto found = wait_for_versions(order)) return found;
  for (const Diagnostic& d : check(order, shape))
    if (d.severity == Diagnostic::Severity::Error) return d.message;
  return {};
}

}  // namespace

Diagnostics check_edited_order(const Scenario& s) {
  if (s.plan.order.empty()) return {};
  const Place place{"plan#/order"};
  const auto error = [&](const std::string& what) {
    return Diagnostic{Diagnostic::Severity::Error, what, place, "order=own"};
  };
  try {
    const auto what = wrong(s, parse_order(s.plan.order, place));
    if (!what) return {};
    return {error("the plan's edited order does not hold: " + *what)};
  } catch (const Error& e) {
    return {{Diagnostic::Severity::Error, e.what(), e.place(), "order=own"}};
  }
}

}  // namespace trainyard
