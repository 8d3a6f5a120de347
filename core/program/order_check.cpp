// Checks an order as data, independently of the plan.
#include <fmt/format.h>

#include <algorithm>

#include "core/program/action_index.h"
#include "core/program/version_check.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostProblems = 100;

class Checker {
 public:
  Checker(const Order& order, const ScheduleShape& shape)
      : order_(order), shape_(shape), index_(order) {
    const int replicas = shape.stages > 0 ? std::max(1, shape.devices / shape.stages) : 1;
    const int steps = has_updates(order) ? shape.steps : 1;
    expected_ = std::int64_t{shape.microbatches} * steps * replicas;
  }

  Diagnostics run() {
    check_ranges();
    check_keys();
    check_pairs();
    check_missing();
    check_precedences();
    if (!found_.empty()) return std::move(found_);
    const VersionCheck versions(index_);
    for (const VersionProblem& p : versions.problems()) add(place(p.action), "{}", p.sentence);
    if (found_.empty()) check_waits(versions);
    return std::move(found_);
  }

 private:
  template <class... Args>
  void add(std::string place, fmt::format_string<Args...> form, Args&&... args) {
    if (found_.size() == kMostProblems) return;
    Diagnostic wrong;
    wrong.message = fmt::format(form, std::forward<Args>(args)...);
    wrong.place = {std::move(place)};
    found_.push_back(std::move(wrong));
  }

  /// The place of an action, such as "order d0/compute:17", counting from 1.
  std::string place(std::uint32_t index) const {
    const std::size_t line = index_.line_of(index);
    const Lane& lane = order_.lanes[line];
    return fmt::format("order d{}/{}:{}", lane.device.value, lane.name,
                       index - lines_[line].first + 1);
  }

  void check_ranges() {
    for (const Lane& lane : order_.lanes) {
      const std::string where = fmt::format("order d{}/{}", lane.device.value, lane.name);
      if (lane.device.value >= static_cast<std::uint32_t>(std::max(0, shape_.devices)))
        add(where, "expected a device below {}, found d{}", shape_.devices, lane.device.value);
      if (lane.delay < Duration{}) add(where, "a delay of {} ns is negative", lane.delay.count());
      if (!(lane.behind >= 0 && lane.behind <= 1))
        add(where, "expected a part of a cycle from 0 to 1, found {} cycles", lane.behind);
    }
    for (std::uint32_t i = 0; i < actions_.size(); ++i) {
      const Action& a = actions_[i];
      if (a.stage.value >= static_cast<std::uint32_t>(std::max(0, shape_.stages)))
        add(place(i), "{}: expected a stage below {}", to_text(a), shape_.stages);
      if (a.microbatch < 0 || (a.phase != Phase::Update && a.microbatch >= expected_))
        add(place(i), "{}: expected a microbatch below {}", to_text(a), expected_);
    }
  }

  // Checks that each key has one action, and that the backward is whole or in two parts and never
  // before its forward.
  void check_keys() {
    for (std::size_t i = 1; i < entries_.size(); ++i)
      if (entries_[i].key == entries_[i - 1].key)
        add(place(entries_[i].index), "{} is there twice", to_text(actions_[entries_[i].index]));
    for (const ActionIndex::Entry& e : entries_) {
      const auto [phase, stage, microbatch] = e.key;
      const auto needs = [&](Phase before, std::string_view what) {
        const std::uint32_t other = index_.find(before, e.key.stage, e.key.microbatch);
        if (other == kNothing)
          add(place(e.index), "{} has no {}", to_text(actions_[e.index]), what);
        else if (other > e.index && index_.line_of(other) == index_.line_of(e.index))
          add(place(e.index), "{} comes before its {}", to_text(actions_[e.index]), what);
      };
      if (phase == Phase::Backward || phase == Phase::BackwardInput)
        needs(Phase::Forward, "forward");
      if (phase == Phase::BackwardWeight) needs(Phase::BackwardInput, "input gradient");
      if (phase != Phase::Forward && phase != Phase::Update &&
          std::int64_t{stage} < shape_.forward_only)
        add(place(e.index), "{}: stage {} has frozen layers alone, and no backward",
            to_text(actions_[e.index]), stage);
      if (phase == Phase::Backward && (index_.has(Phase::BackwardInput, stage, microbatch) ||
                                       index_.has(Phase::BackwardWeight, stage, microbatch)))
        add(place(e.index), "{} stands beside a split backward", to_text(actions_[e.index]));
    }
  }

  // Checks that what runs together is a forward and a backward, on a device that does nothing else
  // meanwhile.
  void check_pairs() {
    for (std::size_t l = 0; l < order_.lanes.size(); ++l) {
      const Lane& lane = order_.lanes[l];
      for (std::uint32_t i = 0; i < lane.actions.size(); ++i) {
        if (!lane.actions[i].paired) continue;
        const std::string where = place(lines_[l].first + i), what = to_text(lane.actions[i]);
        const auto forward = [&](std::uint32_t at) {
          return lane.actions[at].phase == Phase::Forward;
        };
        const auto backward = [&](std::uint32_t at) {
          return lane.actions[at].phase == Phase::Backward ||
                 lane.actions[at].phase == Phase::BackwardInput;
        };
        if (i == 0)
          add(where, "{} is the first of its lane and has nothing to run together with", what);
        else if (lane.actions[i - 1].paired)
          add(where, "{} runs together with {}, which is of a pair already", what,
              to_text(lane.actions[i - 1]));
        else if (!(forward(i - 1) && backward(i)) && !(backward(i - 1) && forward(i)))
          add(where, "{} runs together with {}: expected a forward and a backward", what,
              to_text(lane.actions[i - 1]));
        else if (lane.actions[i - 1].stage == lane.actions[i].stage &&
                 lane.actions[i - 1].microbatch == lane.actions[i].microbatch)
          add(where, "{} cannot run together with {}, which it needs", what,
              to_text(lane.actions[i - 1]));
      }
      if (has_pairs(lane) && lanes_on(lane.device) > 1)
        add(fmt::format("order d{}/{}", lane.device.value, lane.name),
            "pairs share their device with no other lane, and d{} has {}", lane.device.value,
            lanes_on(lane.device));
    }
  }

  std::ptrdiff_t lanes_on(DeviceId device) const {
    return std::count_if(order_.lanes.begin(), order_.lanes.end(), [&](const Lane& lane) {
      return lane.device == device && !lane.actions.empty();
    });
  }

  // Checks that each microbatch goes forward and backward through each stage.
  void check_missing() {
    for (int s = 0; s < shape_.stages && found_.size() < kMostProblems; ++s) {
      const auto stage = static_cast<std::uint32_t>(s);
      check_complete(stage, Phase::Forward, Phase::Forward, "forward");
      if (s < shape_.forward_only) continue;
      check_complete(stage, Phase::Backward, Phase::BackwardInput, "backward");
      if (splits(stage))
        check_complete(stage, Phase::Backward, Phase::BackwardWeight, "weight gradient");
    }
  }

  bool splits(std::uint32_t stage) const {
    const ActionIndex::Entry first{{Phase::BackwardInput, stage, 0}, 0};
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), first);
    return at != entries_.end() && at->key.phase == Phase::BackwardInput && at->key.stage == stage;
  }

  void check_complete(std::uint32_t stage, Phase one, Phase other, std::string_view what) {
    std::vector<std::int32_t> there;
    const auto collect = [&](Phase phase) {
      const ActionIndex::Entry first{{phase, stage, 0}, 0};
      for (auto at = std::lower_bound(entries_.begin(), entries_.end(), first);
           at != entries_.end() && at->key.phase == phase && at->key.stage == stage; ++at)
        if (at->key.microbatch < expected_) there.push_back(at->key.microbatch);
    };
    collect(one);
    if (other != one) collect(other);
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    const std::int64_t missing = expected_ - static_cast<std::int64_t>(there.size());
    if (missing <= 0) return;
    std::int32_t first = 0;
    while (static_cast<std::size_t>(first) < there.size() &&
           there[static_cast<std::size_t>(first)] == first)
      ++first;
    const std::string more = missing > 1 ? fmt::format(" and of {} more", missing - 1) : "";
    add("order", "stage {} lacks the {} of microbatch {}{}", stage, what, first, more);
  }

  void check_precedences() {
    for (const Precedence& p : order_.precedences)
      for (const Action& a : {p.before, p.after})
        if (!index_.has(a.phase, a.stage.value, a.microbatch))
          add("order " + to_text(p.before) + " < " + to_text(p.after), "no lane has an action {}",
              to_text(a));
  }

  void check_waits(const VersionCheck& versions) {
    using Edge = std::pair<std::uint32_t, std::uint32_t>;  // pairs of after, before
    std::vector<Edge> edges;
    for (std::uint32_t i = 0; i < actions_.size(); ++i)
      for (std::uint32_t before : index_.needs(actions_[i], shape_.stages))
        if (before != kNothing) edges.push_back({i, before});
    const auto index = [&](const Action& a) {
      return index_.find(a.phase, a.stage.value, a.microbatch);
    };
    for (const Precedence& p : order_.precedences)
      edges.push_back({index(p.after), index(p.before)});
    for (const Edge& e : versions.waits()) edges.push_back(e);
    wait_for_lanes_before(edges);
    wait_as_pairs(edges);
    std::sort(edges.begin(), edges.end());
    std::vector<std::uint32_t> first(actions_.size() + 1, 0);  // by action: its first edge
    for (const Edge& e : edges) ++first[e.first + 1];
    for (std::size_t i = 0; i < actions_.size(); ++i) first[i + 1] += first[i];
    const auto circle = find_circle(lines_, actions_.size(), [&](std::uint32_t i, const auto& at) {
      for (std::uint32_t e = first[i]; e < first[i + 1]; ++e)
        if (at[edges[e].second] != Progress::Done) return edges[e].second;
      return kNothing;
    });
    if (!circle.empty())
      add("order", "the lanes wait for each other: {}",
          describe(circle, [&](std::uint32_t i) { return to_text(actions_[i]); }));
  }

  // A forward of a lane that is behind another begins after the same one of that lane has begun.
  void wait_for_lanes_before(std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) const {
    const auto forwards = [&](std::size_t lane) {
      std::vector<std::uint32_t> found;
      for (std::uint32_t i = lines_[lane].first; i < lines_[lane].first + lines_[lane].count; ++i)
        if (actions_[i].phase == Phase::Forward) found.push_back(i);
      return found;
    };
    for (std::size_t lane = 0; lane < order_.lanes.size(); ++lane) {
      const std::size_t before = lane_before(order_, lane);
      if (order_.lanes[lane].behind == 0 || before == kNoLane) continue;
      const std::vector<std::uint32_t> own = forwards(lane), others = forwards(before);
      for (std::size_t n = 0; n < std::min(own.size(), others.size()); ++n)
        edges.push_back({own[n], others[n]});
    }
  }

  // Each action of a pair also waits for what the other one needs.
  void wait_as_pairs(std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) const {
    std::vector<bool> pairs(actions_.size() + 1, false);
    for (std::uint32_t i = 0; i < actions_.size(); ++i) pairs[i] = actions_[i].paired;
    const std::size_t own = edges.size();
    for (std::size_t e = 0; e < own; ++e) {
      const auto [after, before] = edges[e];
      if (pairs[after]) edges.push_back({after - 1, before});
      if (pairs[after + 1]) edges.push_back({after + 1, before});
    }
  }

  const Order& order_;
  const ScheduleShape& shape_;
  ActionIndex index_;
  const std::vector<Action>& actions_ = index_.actions();
  const std::vector<Line>& lines_ = index_.lines();
  const std::vector<ActionIndex::Entry>& entries_ = index_.entries();
  std::int64_t expected_ = 0;  // number of microbatches in the whole run
  Diagnostics found_;
};

}  // namespace

Diagnostics check(const Order& order, const ScheduleShape& shape) {
  return Checker(order, shape).run();
}

}  // namespace trainyard
