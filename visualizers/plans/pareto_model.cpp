#include "visualizers/plans/pareto_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

bool of_front(ParetoFate fate) { return fate == ParetoFate::Front || fate == ParetoFate::Best; }

// As a figure of which less is better.
double cost_of(const ParetoModel& model, std::size_t point, ParetoAxis axis) {
  const double value = value_of(model, model.points[point], axis);
  return axis == ParetoAxis::Rate ? -value : value;
}

Duration nanoseconds(double seconds) { return Duration{std::llround(seconds * 1e9)}; }
Bytes whole_bytes(double bytes) { return Bytes{std::llround(bytes)}; }

std::string dollars(double money) {
  return "$" + format_signed(money, money < 0.1 ? 4 : money < 10 ? 3 : 2).substr(1);
}

}  // namespace

void find_front(ParetoModel& model) {
  model.front.clear();
  for (std::size_t i = 0; i < model.points.size(); ++i)
    if (of_front(model.points[i].fate)) model.front.push_back(i);
  const auto order = [&](std::size_t i) {
    const ParetoPoint& p = model.points[i];
    return std::tuple(p.step, p.memory, p.id);
  };
  std::sort(model.front.begin(), model.front.end(),
            [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
}

std::string_view to_string(ParetoAxis axis) {
  switch (axis) {
    case ParetoAxis::Memory:
      return "memory";
    case ParetoAxis::Step:
      return "time";
    case ParetoAxis::Money:
      return "money";
    case ParetoAxis::Rate:
      return "rate";
  }
  return "";
}

std::string_view title_of(ParetoAxis axis) {
  switch (axis) {
    case ParetoAxis::Memory:
      return "peak memory of the fullest device";
    case ParetoAxis::Step:
      return "step time";
    case ParetoAxis::Money:
      return "cost per step";
    case ParetoAxis::Rate:
      return "tokens per second";
  }
  return "";
}

bool has_axis(const ParetoModel& model, ParetoAxis axis) {
  if (axis == ParetoAxis::Rate) return model.tokens > 0;
  if (axis != ParetoAxis::Money) return true;
  return std::any_of(model.points.begin(), model.points.end(),
                     [](const ParetoPoint& p) { return p.money > 0; });
}

double value_of(const ParetoModel& model, const ParetoPoint& point, ParetoAxis axis) {
  switch (axis) {
    case ParetoAxis::Memory:
      return point.memory;
    case ParetoAxis::Step:
      return point.step;
    case ParetoAxis::Money:
      return point.money;
    case ParetoAxis::Rate:
      return point.step > 0 ? model.tokens / point.step : 0;
  }
  return 0;
}

std::string value_text(double value, ParetoAxis axis) {
  switch (axis) {
    case ParetoAxis::Memory:
      return format_bytes(whole_bytes(value));
    case ParetoAxis::Step:
      return format_step_time(nanoseconds(value));
    case ParetoAxis::Money:
      return dollars(value);
    case ParetoAxis::Rate:
      return format_large(value) + " tokens/s";
  }
  return "";
}

bool in_brush(const ParetoModel& model, const ParetoPoint& point, const ParetoState& state) {
  if (!state.brush) return true;
  const double x = value_of(model, point, state.x), y = value_of(model, point, state.y);
  return x >= state.brush->x_low && x <= state.brush->x_high && y >= state.brush->y_low &&
         y <= state.brush->y_high;
}

std::vector<std::size_t> walk(const ParetoModel& model, ParetoAxis x, ParetoAxis y) {
  std::vector<std::size_t> order = model.front;
  const auto key = [&](std::size_t i) {
    return std::pair(value_of(model, model.points[i], x), cost_of(model, i, y));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

std::vector<std::size_t> stair(const ParetoModel& model, ParetoAxis x, ParetoAxis y) {
  std::vector<std::size_t> order = walk(model, x, y), found;
  // Where more is better on x, the cheapest end lies at the right.
  const bool leftward = x == ParetoAxis::Rate;
  if (leftward)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(cost_of(model, a, x), cost_of(model, a, y)) <
             std::pair(cost_of(model, b, x), cost_of(model, b, y));
    });
  for (const std::size_t i : order)
    if (found.empty() || cost_of(model, i, y) < cost_of(model, found.back(), y)) found.push_back(i);
  if (leftward) std::reverse(found.begin(), found.end());
  return found;
}

std::optional<std::size_t> best_of(const ParetoModel& model) {
  for (const std::size_t i : model.front)
    if (model.points[i].fate == ParetoFate::Best) return i;
  if (model.front.empty()) return std::nullopt;
  return model.front.front();
}

std::optional<std::size_t> step_along(const ParetoModel& model, const ParetoState& state,
                                      int direction) {
  const std::vector<std::size_t> order = walk(model, state.x, state.y);
  if (order.empty()) return std::nullopt;
  if (!state.selected) return best_of(model);
  const auto at = std::find(order.begin(), order.end(), *state.selected);
  if (at != order.end()) {
    if (direction < 0) return at == order.begin() ? *at : *(at - 1);
    return at + 1 == order.end() ? *at : *(at + 1);
  }
  const double x = value_of(model, model.points[*state.selected], state.x);
  const auto right = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return value_of(model, model.points[i], state.x) > x;
  });
  if (direction < 0) return right == order.begin() ? *right : *(right - 1);
  return right == order.end() ? order.back() : *right;
}

std::string pareto_words(const ParetoModel& model) {
  if (model.points.empty()) return "No plan has been priced yet";
  const auto fitting = std::count_if(model.points.begin(), model.points.end(),
                                     [](const auto& p) { return p.fate != ParetoFate::TooLarge; });
  std::string words;
  if (const auto best = best_of(model)) {
    const ParetoPoint& p = model.points[*best];
    words = format_count(static_cast<std::int64_t>(model.front.size())) +
            (model.front.size() == 1 ? " plan" : " plans") + " on the front, best " +
            value_text(p.step, ParetoAxis::Step) + " at " +
            value_text(p.memory, ParetoAxis::Memory) + "; ";
  }
  return words + format_count(fitting) + " of " +
         format_count(static_cast<std::int64_t>(model.points.size())) + " legal plans fit";
}

Hover describe_point(const ParetoModel& model, std::size_t point, const std::string& plan,
                     const std::string& reason) {
  Hover hover;
  if (point >= model.points.size()) return hover;
  const ParetoPoint& p = model.points[point];
  hover.title = plan;
  // A plan that fits has its memory exactly; one that does not may have lost before it was counted.
  const std::string least = p.bound ? "at least " : "";
  hover.value = least + value_text(p.step, ParetoAxis::Step) + ", " +
                (p.fate == ParetoFate::TooLarge ? least : "") +
                value_text(p.memory, ParetoAxis::Memory);
  const auto rank = std::find(model.front.begin(), model.front.end(), point);
  if (p.fate == ParetoFate::TooLarge)
    hover.where = "does not fit";
  else if (rank == model.front.end())
    hover.where = "fits, not on the front";
  else
    hover.where = (p.fate == ParetoFate::Best ? "the best; " : "") + std::string("number ") +
                  std::to_string(rank - model.front.begin() + 1) + " of the front by time";
  if (model.capacity > 0) {
    const double spare = model.capacity - p.memory;
    hover.lines.push_back(value_text(std::abs(spare), ParetoAxis::Memory) +
                          (spare < 0 ? " over" : " spare"));
  }
  if (model.tokens > 0)
    hover.lines.push_back(
        value_text(value_of(model, p, ParetoAxis::Rate), ParetoAxis::Rate) +
        (p.money > 0 ? ", " + value_text(p.money, ParetoAxis::Money) + " per step" : ""));
  if (!reason.empty()) hover.lines.push_back(reason);
  return hover;
}

}  // namespace trainyard
