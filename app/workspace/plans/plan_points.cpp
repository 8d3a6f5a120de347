#include "app/workspace/plans/plan_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "planners/plans/exact_price.h"

namespace trainyard {
namespace {

// The knobs that plan_name() includes.
constexpr std::string_view kNamed[] = {
    "tp", "pp", "cp", "ep", "etp", "dp", "devices", "schedule", "virtual-stages"};

enum Family : std::uint8_t { kOneChunk, kInterleaved, kOther, kNoPipeline };

// What the points of one space share.
class Points {
 public:
  Points(const PlanSpace& space, Bytes spare)
      : space_(space), pp_(space.knob("pp")), schedule_(space.knob("schedule")) {
    const Scenario& base = space.base();
    model_.families = {"1f1b, gpipe", "interleaved", "other schedules", "no pipeline"};
    model_.capacity = static_cast<double>(memory_limit(base.cluster, spare).value);
    if (base.model.tokens)
      model_.tokens = static_cast<double>(base.plan.batch.global) *
                      static_cast<double>(base.plan.batch.sequence);
    const std::size_t devices = space.knob("devices");
    devices_ = devices;
    for (std::uint32_t d = 0; d < space.knobs()[devices].values.size(); ++d)
      money_.push_back(step_money(with_devices(base.cluster, space.number(devices, d)),
                                  std::chrono::seconds(1)));
    for (const std::string& word : space.knobs()[schedule_].values)
      families_.push_back(word == "interleaved"               ? kInterleaved
                          : word == "1f1b" || word == "gpipe" ? kOneChunk
                                                              : kOther);
  }

  void add(PlanId id, Duration step, Bytes memory, ParetoFate fate, bool bound) {
    ParetoPoint p;
    p.id = id;
    p.step = to_seconds(step);
    p.memory = static_cast<double>(memory.value);
    p.money = money_[space_.digit(id, devices_)] * p.step;
    p.family = space_.number(pp_, space_.digit(id, pp_)) == 1
                   ? std::uint8_t{kNoPipeline}
                   : families_[space_.digit(id, schedule_)];
    p.fate = fate;
    p.bound = bound;
    model_.points.push_back(p);
  }

  ParetoModel done() && {
    find_front(model_);
    return std::move(model_);
  }

 private:
  const PlanSpace& space_;
  std::size_t pp_, schedule_, devices_ = 0;
  std::vector<double> money_;           // per second, by value of the `devices` knob
  std::vector<std::uint8_t> families_;  // by value of the schedule
  ParetoModel model_;
};

ParetoFate drawn_as(Fate fate) {
  switch (fate) {
    case Fate::Memory:
      return ParetoFate::TooLarge;
    case Fate::Front:
      return ParetoFate::Front;
    case Fate::Best:
      return ParetoFate::Best;
    default:
      return ParetoFate::Dominated;
  }
}

double cost(const Candidate& c, PlanObjective objective) {
  switch (objective) {
    case PlanObjective::Time:
      return to_seconds(c.time());
    case PlanObjective::Memory:
      return static_cast<double>(c.memory.value);
    case PlanObjective::Money:
      return c.money;
  }
  return 0;
}

std::string value(const PlanSpace& space, PlanId id, std::string_view key) {
  const std::size_t k = space.knob(key);
  return k < space.knobs().size() ? space.value(id, k) : "";
}

std::int64_t knob_number(const PlanSpace& space, PlanId id, std::string_view key) {
  const std::size_t k = space.knob(key);
  return k < space.knobs().size() ? space.number(k, space.digit(id, k)) : 1;
}

}  // namespace

ParetoModel plan_points(const PlanSpace& space, const SearchResult& found, Bytes spare) {
  Points points(space, spare);
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    const PricedPlan& plan = found.plans[i];
    if (legal(plan.fate) && plan.step > Duration{})
      points.add(found.ids[i], plan.step, plan.memory, drawn_as(plan.fate), plan.bound);
  }
  return std::move(points).done();
}

ParetoModel plan_points(const PlanSpace& space, const std::vector<Candidate>& front,
                        PlanObjective objective, Bytes spare) {
  Points points(space, spare);
  const auto best =
      std::min_element(front.begin(), front.end(), [&](const Candidate& a, const Candidate& b) {
        return cost(a, objective) < cost(b, objective);
      });
  for (auto c = front.begin(); c != front.end(); ++c)
    points.add(c->id, c->step, c->memory, c == best ? ParetoFate::Best : ParetoFate::Front, false);
  return std::move(points).done();
}

std::int64_t data_ranks(const PlanSpace& space, PlanId id) {
  return knob_number(space, id, "devices") /
         std::max<std::int64_t>(1, knob_number(space, id, "tp") * knob_number(space, id, "cp") *
                                       knob_number(space, id, "pp"));
}

std::string plan_name(const PlanSpace& space, PlanId id) {
  std::string name;
  const auto add = [&](const std::string& words) { name += (name.empty() ? "" : ", ") + words; };
  if (knob_number(space, id, "pp") > 1) {
    const std::int64_t chunks = knob_number(space, id, "virtual-stages");
    add(value(space, id, "schedule") + (chunks > 1 ? fmt::format(" \u00D7{}", chunks) : ""));
  }
  for (const auto& [word, key] :
       {std::pair("TP", "tp"), std::pair("PP", "pp"), std::pair("CP", "cp"), std::pair("EP", "ep")})
    if (knob_number(space, id, key) > 1)
      add(fmt::format("{} {}", word, knob_number(space, id, key)));
  if (value(space, id, "etp") == "1") add("ETP 1");
  if (const std::int64_t dp = data_ranks(space, id); dp > 1) add(fmt::format("DP {}", dp));
  return name.empty() ? "one device" : name;
}

std::string plan_details(const PlanSpace& space, PlanId id) {
  std::string words;
  for (std::size_t k = 0; k < space.knobs().size(); ++k) {
    const Knob& knob = space.knobs()[k];
    if (knob.values.size() < 2) continue;
    if (std::find(std::begin(kNamed), std::end(kNamed), knob.key) != std::end(kNamed)) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", knob.key, space.value(id, k));
  }
  return words;
}

}  // namespace trainyard
