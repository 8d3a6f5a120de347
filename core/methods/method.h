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
  /// Settles facts before ops are written.
  std::function<void(Layout&, const Scenario&, const Params&)> arrange = {};
  /// Rewrites one kind of layer.
  std::function<void(Body&, const Layout&, const Scenario&, const Params&)> rewrite = {};
};

}  // namespace trainyard
