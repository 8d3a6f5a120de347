// A FlowEngine moves flows over links that they share max-min fairly: no flow can have more without
// one that has no more than it having less (Bertsekas, Gallager, "Data Networks", 1992, 6.5.2).
// When a flow begins or ends, rates change only among the flows that are joined to it by links, and
// they are found by progressive filling with a heap: a change costs the links that those flows pass
// times the logarithm of their number.
//
// Flows that take the same links, or links that are alike, can be one flow: a FlowLink says how
// many of them pass the link.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <vector>

namespace trainyard {

struct FlowLink {
  std::uint32_t link = 0;
  double flows = 1;  // how many flows at the flow's rate pass it, or which part of one; > 0
  friend bool operator==(const FlowLink&, const FlowLink&) = default;
};

struct LinkFlow {
  std::span<const FlowLink> path;  // each link once; must outlive the flow
  double bytes = 0;                // of each of the flows; >= 0, infinity = it never ends
  double weight = 1;               // a flow of weight 2 gets twice the rate where both wait; > 0
  double most = std::numeric_limits<double>::infinity();  // the rate of its source; finite where
                                                          // the path is empty
};

/// Times are nanoseconds and rates bytes per nanosecond (GB/s). Equal calls give equal answers.
class FlowEngine {
 public:
  using Id = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Every capacity is > 0.
  explicit FlowEngine(std::vector<double> capacities);

  /// Ids of finished flows are used again.
  Id start(const LinkFlow&, double now);
  /// From now on its bytes move at that share of the rate that it takes of its links, > 0.
  void pace(Id, double share, double now);
  /// Returns when the next flow finishes, if nothing else happens; nothing where none does.
  std::optional<double> next();
  /// Takes off all that have finished by then, `now` being at least next() of the flows before, and
  /// returns them by rising id.
  std::vector<Id> finish(double now);

  double rate(Id id) const { return flows_[id].rate; }
  /// Returns the link for which the flow waits, or kNone where its source has no more to give.
  std::uint32_t waits_for(Id id) const { return flows_[id].bottleneck; }
  /// (flow, since, until, bytes that each of its flows has moved)
  using Watcher = std::function<void(Id, double, double, double)>;
  /// Calls back whenever rates around a flow are about to change: rate() and waits_for() of it and
  /// of all that share links with it have held all the while.
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }
  /// Calls back with every other flow that passes the link.
  template <class Visit>
  void each_on(std::uint32_t link, const Visit& visit) const {
    for (const Passing& p : links_[link].passing)
      visit(p.flow, flows_[p.flow].path[p.place].flows * flows_[p.flow].rate);
  }

  /// Brings what has been moved up to date.
  void settle_all(double now);
  /// Returns the bytes that the link has carried, as of the last change around it or settle_all().
  double carried(std::uint32_t link) const { return links_[link].carried; }
  /// Returns how often the rates of a flow were found anew: what all of it has cost.
  std::uint64_t rates_found() const { return rates_found_; }

 private:
  struct Passing {
    Id flow;
    std::uint32_t place;  // in the flow's path
  };
  struct Link {
    double capacity = 1, carried = 0;
    std::vector<Passing> passing;
    double left = 0, weight = 0;  // while filling
    std::uint32_t open = 0, seen = 0;
    bool changed = false;
  };
  struct Moving {
    std::span<const FlowLink> path;
    std::vector<std::uint32_t> at;  // its place in Link::passing, by place in its path
    double left = 0, weight = 1, most = 0, rate = 0, pace = 1, since = 0;
    std::uint32_t bottleneck = kNone, version = 0, seen = 0;
    bool active = false, ended = false, filled = false;
  };
  struct Forecast {
    double at;
    Id flow;
    std::uint32_t version;
    friend bool operator>(const Forecast& a, const Forecast& b) {
      return a.at != b.at ? a.at > b.at : a.flow > b.flow;
    }
  };

  void change(Id);
  void settle(Id, double now);
  void remove(Id);
  void resolve();
  void collect();
  void fill();
  void forecast(Id);

  std::vector<Link> links_;
  std::vector<Moving> flows_;
  std::vector<Id> free_, changed_flows_, ended_;
  std::vector<std::uint32_t> changed_links_;
  std::vector<Id> component_;
  std::vector<std::uint32_t> component_links_;
  std::priority_queue<Forecast, std::vector<Forecast>, std::greater<>> forecasts_;
  Watcher watcher_;
  double now_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t rates_found_ = 0;
};

}  // namespace trainyard
