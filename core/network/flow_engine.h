// A FlowEngine moves flows over links that they share max-min fairly: no flow can have more without
// one that has no more than it having less (Bertsekas, Gallager, "Data Networks", 1992, 6.5.2).
// When flows begin or end, the rates of others change only where the level at which a link is full
// changes. Progressive filling with a heap begins at the links of those flows and goes on, from low
// levels to high ones, to the links of each flow whose rate has changed: an instant costs the flows
// on those links times the logarithm of their number, however many are joined to them by further
// links (the graph of bottlenecks; Ros-Giralt et al., "On the bottleneck structure of
// congestion-controlled networks", SIGMETRICS 2020).
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
  /// Calls back whenever rates around a flow are about to change: rate() and waits_for() of it, and
  /// the rates of all that pass the link for which it waits, have held all the while.
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }
  /// Calls back with every other flow that passes the link.
  template <class Visit>
  void each_on(std::uint32_t link, const Visit& visit) const {
    for (const Passing& p : links_[link].passing)
      visit(p.flow, flows_[p.flow].path[p.place].flows * flows_[p.flow].rate);
  }

  /// Brings what has been moved up to date.
  void settle_all(double now);
  /// Returns the bytes that each of the flow's flows still has to move, as of the last
  /// settle_all().
  double left(Id id) const { return flows_[id].left; }
  /// Returns the bytes that the link has carried, as of the last settle_all().
  double carried(std::uint32_t link) const { return links_[link].carried; }
  /// Returns how often the rate of a flow was looked at anew: what all of it has cost.
  std::uint64_t rates_found() const { return rates_found_; }

 private:
  struct Passing {
    Id flow;
    std::uint32_t place;  // in the flow's path
  };
  struct Link {
    double capacity = 1, carried = 0;
    std::vector<Passing> passing;
    double level = 0;             // rate by weight of the flows that wait for it
    double left = 0, weight = 0;  // while filling: for `open` flows
    std::uint32_t open = 0, filling = 0;
  };
  struct Moving {
    std::span<const FlowLink> path;
    std::vector<std::uint32_t> at;  // its place in Link::passing, by place in its path
    double left = 0, weight = 1, most = 0, rate = 0, pace = 1, since = 0;
    std::uint32_t bottleneck = kNone, version = 0;
    bool active = false, ended = false, fresh = true;
    double next_rate = 0;  // while filling, as all below
    std::uint32_t next_bottleneck = kNone;
    std::uint32_t touched = 0, filled = 0, opened = 0;  // the round in which it was
  };
  // A level at which a link is full, a source has no more, or a flow was settled before.
  struct FillLevel {
    double at;
    bool source;
    std::uint32_t id;            // of the link, or of the flow of the source
    std::uint32_t flow = kNone;  // which was settled there before; kNone: the link itself
    bool before(const FillLevel& o) const {
      if (at != o.at) return at < o.at;
      return source != o.source ? o.source : id < o.id;
    }
    friend bool operator>(const FillLevel& a, const FillLevel& b) {
      return b.before(a) || (!a.before(b) && a.flow > b.flow);
    }
  };
  struct Forecast {
    double at;
    Id flow;
    std::uint32_t version;
    friend bool operator>(const Forecast& a, const Forecast& b) {
      return a.at != b.at ? a.at > b.at : a.flow > b.flow;
    }
  };

  void settle(Id, double now);
  void remove(Id);
  void resolve();
  void fill();
  void take_up(std::uint32_t link);
  void take_up_all(Id);
  void touch(Id);
  void fill_link(std::uint32_t link, double level);
  void fill_flow(Id, double rate, std::uint32_t bottleneck);
  void pass_settled(Id);
  FillLevel settled_at(Id) const;
  double level_of(const Link&) const;
  void forecast(Id);

  std::vector<Link> links_;
  std::vector<Moving> flows_;
  std::vector<Id> free_, started_, ended_;
  std::vector<Id> touched_;  // while filling: the flows on links that are filled anew
  std::priority_queue<FillLevel, std::vector<FillLevel>, std::greater<>> levels_;
  FillLevel reached_{};  // all below it is settled
  std::priority_queue<Forecast, std::vector<Forecast>, std::greater<>> forecasts_;
  Watcher watcher_;
  double now_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t rates_found_ = 0;
};

}  // namespace trainyard
