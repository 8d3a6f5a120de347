#include "core/program/order_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/program/action_index.h"

namespace trainyard {
namespace {

// One link of a circle: an action is behind another in its lane, or needs the other's result.
struct Link {
  std::uint32_t to = 0;
  bool by_lane = false;
};

// Finds the circle through one action that breaks the fewest dependencies. Steps back along a lane
// cost nothing, so that the nearest real dependency of an action is named.
class CircleSearch {
 public:
  CircleSearch(const Order& order, const ActionIndex& index, int stages)
      : index_(index), stages_(stages) {
    for (const Precedence& p : order.precedences)
      awaited_.push_back({find(p.after), find(p.before)});
    std::sort(awaited_.begin(), awaited_.end());
    for (const Line& line : index.lines())
      if (line.count > 0) heads_.push_back(line.first);
  }

  /// The circle from the action back to itself; consecutive links of one lane are merged. Empty if
  /// there is none.
  std::vector<Link> through(std::uint32_t action) {
    come_from_.assign(index_.actions().size(), {kNothing, false});
    cost_.assign(index_.actions().size(), kNothing);
    std::deque<std::uint32_t> open = {action};
    Link back{kNothing, false};
    std::uint32_t best = kNothing;
    cost_[action] = 0;
    while (!open.empty()) {
      const std::uint32_t here = open.front();
      open.pop_front();
      each_link(here, [&](Link link) {
        const std::uint32_t cost = cost_[here] + (link.by_lane ? 0 : 1);
        if (link.to == action) {
          if (cost < best) best = cost, back = {here, link.by_lane};
          return;
        }
        if (cost >= cost_[link.to]) return;
        cost_[link.to] = cost, come_from_[link.to] = {here, link.by_lane};
        link.by_lane ? open.push_front(link.to) : open.push_back(link.to);
      });
    }
    return best == kNothing ? std::vector<Link>{} : walked(action, back);
  }

 private:
  std::uint32_t find(const Action& a) const {
    return index_.find(a.phase, a.stage.value, a.microbatch);
  }

  template <class F>
  void each_link(std::uint32_t i, F&& f) const {
    if (!std::binary_search(heads_.begin(), heads_.end(), i)) f({i - 1, true});
    for (const std::uint32_t other : index_.needs(index_.actions()[i], stages_))
      if (other != kNothing) f({other, false});
    for (auto at = std::lower_bound(awaited_.begin(), awaited_.end(), std::pair{i, 0u});
         at != awaited_.end() && at->first == i; ++at)
      if (at->second != kNothing) f({at->second, false});
  }

  std::vector<Link> walked(std::uint32_t action, Link back) const {
    std::vector<Link> path = {{action, back.by_lane}};
    for (std::uint32_t at = back.to; at != action; at = come_from_[at].to)
      path.push_back({at, come_from_[at].by_lane});
    std::reverse(path.begin(), path.end());
    std::vector<Link> joined;
    for (const Link& link : path) {
      if (!joined.empty() && joined.back().by_lane && link.by_lane)
        joined.back() = link;
      else
        joined.push_back(link);
    }
    return joined;
  }

  const ActionIndex& index_;
  int stages_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> awaited_;  // (after, before), by precedences
  std::vector<std::uint32_t> heads_;                              // of lanes, sorted
  std::vector<Link> come_from_;
  std::vector<std::uint32_t> cost_;
};

// Describes the dependency that the edit would reverse: `early` would run before `late`, although
// it needs `late` by the links between them.
std::string broken(const ActionIndex& index, const Order& order, std::uint32_t early,
                   const std::vector<Link>& links) {
  constexpr std::size_t kMostLinks = 12;  // a longer chain is cut in its middle
  const std::vector<Action>& actions = index.actions();
  const Action &a = actions[early], &b = actions[links.back().to];
  std::string text = fmt::format("d{}: {} cannot run before ",
                                 order.lanes[index.line_of(early)].device.value, to_text(a));
  if (links.size() == 1)
    return text + (a.stage == b.stage && a.microbatch == b.microbatch
                       ? "its " + to_text(b)
                       : to_text(b) + ", which it needs");
  text += to_text(b) + ", but";
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool cut = links.size() > kMostLinks && i == kMostLinks - 2;
    if (cut) i = links.size() - 2;
    text += fmt::format("{}{} {} {}", i == 0 ? "" : ", which", cut ? " at length" : "",
                        links[i].by_lane ? "comes after" : "needs", to_text(actions[links[i].to]));
  }
  return text;
}

// Describes the circle that an edited action closes as the one dependency that it breaks.
std::string broken_by(const ActionIndex& index, const Order& order, std::uint32_t action,
                      std::vector<Link> circle) {
  if (circle.front().by_lane) {  // moved behind what needs it
    const std::uint32_t early = circle.front().to;
    circle.erase(circle.begin());
    return broken(index, order, early, circle);
  }
  if (circle.back().by_lane) circle.pop_back();  // moved ahead of what it needs
  return broken(index, order, action, circle);
}

// Throws if one of these actions waits for itself in the order.
void expect_held(const Order& order, const ScheduleShape& shape, const std::vector<Slot>& edited) {
  const ActionIndex index(order);
  CircleSearch search(order, index, shape.stages);
  for (const Slot& slot : edited) {
    const std::uint32_t action =
        index.lines()[slot.lane].first + static_cast<std::uint32_t>(slot.position);
    if (const std::vector<Link> circle = search.through(action); !circle.empty())
      refuse(broken_by(index, order, action, circle));
  }
  for (const Diagnostic& d : check(order, shape))
    if (d.severity == Diagnostic::Severity::Error) refuse(d.message);
}

const Action& at(const Order& order, Slot slot) {
  if (slot.lane >= order.lanes.size() || slot.position >= order.lanes[slot.lane].actions.size())
    refuse(fmt::format("no action stands at lane {}, position {}", slot.lane, slot.position));
  return order.lanes[slot.lane].actions[slot.position];
}

// Actions that an edit has parted run one after the other from then on.
void part_pairs(Order& edited, const Order& before) {
  std::map<ActionKey, ActionKey> partners;
  for (const Lane& lane : before.lanes)
    for (std::size_t i = 1; i < lane.actions.size(); ++i)
      if (lane.actions[i].paired)
        partners.insert({key_of(lane.actions[i]), key_of(lane.actions[i - 1])});
  if (partners.empty()) return;
  for (Lane& lane : edited.lanes)
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      Action& a = lane.actions[i];
      if (a.paired) a.paired = i > 0 && key_of(lane.actions[i - 1]) == partners.at(key_of(a));
    }
}

void expect_same_device(const Order& order, std::size_t from, std::size_t to, const Action& moved) {
  const DeviceId here = order.lanes[from].device, there = order.lanes[to].device;
  if (here == there) return;
  refuse(fmt::format("{} cannot run on d{}: its stage {} is on d{}", to_text(moved), there.value,
                     moved.stage.value, here.value));
}

}  // namespace

std::optional<Slot> find_slot(const Order& order, const Action& action) {
  for (std::size_t lane = 0; lane < order.lanes.size(); ++lane) {
    const std::vector<Action>& actions = order.lanes[lane].actions;
    const auto found = std::find_if(actions.begin(), actions.end(),
                                    [&](const Action& a) { return key_of(a) == key_of(action); });
    if (found != actions.end())
      return Slot{lane, static_cast<std::size_t>(found - actions.begin())};
  }
  return {};
}

Order move_action(const Order& order, const ScheduleShape& shape, Slot from, Slot to) {
  const Action moved = at(order, from);
  if (to.lane >= order.lanes.size()) refuse(fmt::format("there is no lane {}", to.lane));
  expect_same_device(order, from.lane, to.lane, moved);
  Order edited = order;
  std::vector<Action>& here = edited.lanes[from.lane].actions;
  here.erase(here.begin() + static_cast<std::ptrdiff_t>(from.position));
  std::vector<Action>& there = edited.lanes[to.lane].actions;
  to.position = std::min(to.position, there.size());
  there.insert(there.begin() + static_cast<std::ptrdiff_t>(to.position), moved);
  part_pairs(edited, order);
  expect_held(edited, shape, {to});
  return edited;
}

Order swap_actions(const Order& order, const ScheduleShape& shape, Slot a, Slot b) {
  expect_same_device(order, a.lane, b.lane, at(order, a));
  at(order, b);
  Order edited = order;
  std::swap(edited.lanes[a.lane].actions[a.position], edited.lanes[b.lane].actions[b.position]);
  part_pairs(edited, order);
  expect_held(edited, shape, {a, b});
  return edited;
}

}  // namespace trainyard
