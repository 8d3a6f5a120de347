#include "core/validation/difference.h"

#include <optional>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

struct Change {
  std::string field, mine, theirs;
  std::function<void(Scenario&)> apply;
};

std::string links_text(const Cluster& cluster) {
  std::string text;
  for (const Level& level : cluster.levels)
    text += (text.empty() ? "" : ", ") + std::to_string(level.size) + " at " +
            readable(level.bandwidth.value);
  return text;
}

// Resets a setting that a plan can leave open. Other settings that read as "" disappear with their
// method.
void clear(Plan& plan, std::string_view key) {
  if (key == "split") plan.split = {};
  if (key == "order") plan.order.clear();
  if (key == "framework") plan.software.framework.clear();
  if (key == "kernels") plan.software.kernels.clear();
  if (key == "attention") plan.software.attention.clear();
  if (key == "cuda-graphs") plan.software.graphs.clear();
  if (key == "release") plan.software.release.clear();
}

// Resets the data-parallel degree, which follows from the devices and the other degrees.
Scenario settled(Scenario scenario) {
  scenario.plan = complete(scenario);
  scenario.plan.mesh.dp.reset();
  return scenario;
}

std::vector<Change> changes(const Scenario& mine, const Scenario& theirs) {
  std::vector<Change> list;
  const auto add = [&](std::string field, std::string a, std::string b, auto apply) {
    list.push_back({std::move(field), std::move(a), std::move(b), std::move(apply)});
  };
  // Blocks are not compared: models of equal name and size count as equal.
  if (mine.model.name != theirs.model.name || parameters(mine.model) != parameters(theirs.model))
    add("model", mine.model.name, theirs.model.name,
        [&theirs](Scenario& s) { s.model = theirs.model; });
  const Cluster &a = mine.cluster, &b = theirs.cluster;
  if (!(a.device == b.device))
    add("device", a.device.name, b.device.name, [&b](Scenario& s) { s.cluster.device = b.device; });
  if (a.count != b.count)
    add("devices", std::to_string(a.count), std::to_string(b.count),
        [&b](Scenario& s) { s.cluster.count = b.count; });
  if (a.levels != b.levels)
    add("links", links_text(a), links_text(b), [&b](Scenario& s) { s.cluster.levels = b.levels; });
  for (const Setting& setting : settings()) {
    std::string from = setting.read(mine.plan), to = setting.read(theirs.plan);
    if (from == to || setting.key == "dp") continue;
    add(std::string(setting.key), from, to, [&setting, to](Scenario& s) {
      to.empty() ? clear(s.plan, setting.key)
                 : setting.apply(s.plan, to, {std::string(setting.key)});
    });
  }
  return list;
}

// Returns the scenario with these changes and its cost; nothing where it cannot run.
std::optional<std::pair<Scenario, PlanCost>> with(const Scenario& base,
                                                  std::span<const Change> some,
                                                  const PlanPrice& price) {
  std::pair<Scenario, PlanCost> next{base, {}};
  try {
    for (const Change& change : some) change.apply(next.first);
    next.second = price(next.first);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput && error.kind() != Error::Kind::Unsupported)
      throw;
    return std::nullopt;
  }
  return next;
}

FieldDifference joined_changes(std::span<const Change> some) {
  FieldDifference field;
  for (const Change& change : some) {
    const char* comma = field.field.empty() ? "" : ", ";
    field.field += comma + change.field;
    field.mine += comma + (change.mine.empty() && some.size() > 1 ? "-" : change.mine);
    field.theirs += comma + (change.theirs.empty() && some.size() > 1 ? "-" : change.theirs);
  }
  return field;
}

}  // namespace

Difference difference(const Scenario& mine, const Scenario& theirs, const PlanPrice& price) {
  const Scenario end = settled(theirs);
  Scenario now = settled(mine);
  Difference found{price(now), price(end), {}};
  PlanCost cost = found.mine;
  const auto move_to = [&](FieldDifference field, const PlanCost& next) {
    field.step = next.step - cost.step;
    field.peak = next.peak - cost.peak;
    cost = next;
    found.fields.push_back(std::move(field));
  };
  std::vector<Change> left = changes(now, end);
  while (!left.empty()) {
    // Takes the first change that can be made alone; where there is none, the fewest from the front
    // that can be made together.
    std::size_t from = 0, count = 1;
    auto next = with(now, std::span(left).subspan(from, count), price);
    while (!next && ++from < left.size())
      next = with(now, std::span(left).subspan(from, count), price);
    if (!next)
      for (from = 0; !next && ++count <= left.size();)
        next = with(now, std::span(left).subspan(from, count), price);
    if (!next) break;
    move_to(joined_changes(std::span(left).subspan(from, count)), next->second);
    now = std::move(next->first);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(from),
               left.begin() + static_cast<std::ptrdiff_t>(from + count));
  }
  // What remains beside the listed settings are parameters of methods, and changes that could not
  // be made in any intermediate plan.
  if (!left.empty() || cost != found.theirs) {
    FieldDifference rest = joined_changes(left);
    if (left.empty()) rest.field = "other settings";
    move_to(std::move(rest), found.theirs);
  }
  return found;
}

}  // namespace trainyard
