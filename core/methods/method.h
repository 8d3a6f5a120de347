// A Method is one idea from one paper: what it is, when it is legal, what it gains and costs, and
// the one place where it changes how a model is trained.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/methods/body.h"
#include "core/methods/layout.h"
#include "core/plan/params.h"
#include "core/plan/plan.h"
#include "core/program/order.h"

namespace trainyard {

/// Groups the catalogue. A plan has at most one method of the Schedule and Precision axes.
enum class MethodAxis : std::uint8_t {
  Schedule,
  Sharding,
  Reduction,
  Memory,
  Precision,
  Communication
};
std::string_view to_string(MethodAxis);

struct Paper {
  std::string_view title, authors, venue;
  int year = 0;
};

/// The same words in the window, on the command line and in the README.
struct Card {
  std::string_view gains, costs, legal_when;
};

/// Times of one microbatch on each virtual stage, what blocks computation included, and of a
/// message to the next stage.
struct PipelineTimes {
  std::vector<Duration> forward, backward;
  Duration transfer{};
};

/// A schedule's closed form.
struct PipelineEstimate {
  Duration span{};        // first forward to last backward
  std::vector<int> live;  // per virtual stage: microbatches whose activations it holds at its
                          // device's peak
};

struct Method {
  std::string_view name;  // as in plan.json and on the command line
  MethodAxis axis = MethodAxis::Schedule;
  std::string_view summary;
  Paper paper;
  Card card;
  std::string_view file;  // "core/methods/1f1b.cpp"
  std::vector<ParamSpec> params = {};
  /// All that forbids or endangers it in this scenario, whose plan is complete.
  std::function<Diagnostics(const Scenario&, const Params&)> check = {};
  /// Schedules only.
  std::function<Order(const ScheduleShape&, const Params&)> order = {};
  /// Schedules only: what planners score instead of laying the order out. Exact where stages are
  /// equal and transfers take no time.
  std::function<PipelineEstimate(const ScheduleShape&, const PipelineTimes&)> closed_form = {};
  /// Settles facts before ops are written.
  std::function<void(Layout&, const Scenario&, const Params&)> arrange = {};
  /// Rewrites one kind of layer.
  std::function<void(Body&, const Layout&, const Scenario&, const Params&)> rewrite = {};
};

}  // namespace trainyard
