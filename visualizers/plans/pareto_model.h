// Plans as points: step time, memory of the fullest device, money; which of them are best at what,
// and what a person chose among them. Plain data: whoever searched fills it in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

enum class ParetoFate : std::uint8_t {
  TooLarge,   // legal, does not fit
  Dominated,  // fits; another is no slower and no larger
  Front,      // no other is faster and smaller
  Best,       // first by what was searched for
};

struct ParetoPoint {
  std::uint64_t id = 0;     // the caller's
  double step = 0;          // seconds, > 0
  double memory = 0;        // bytes reserved on the fullest device
  double money = 0;         // US dollars of one step; 0 = not known
  std::uint8_t family = 0;  // into ParetoModel::families
  ParetoFate fate = ParetoFate::Dominated;
  bool bound = false;  // the figures are lower bounds
};

/// A plan that has a letter of its own: one of the project's.
struct ParetoLetter {
  std::string letter;     // "A"
  std::size_t point = 0;  // into points
};

struct ParetoModel {
  std::vector<ParetoPoint> points;
  std::vector<std::string> families;  // what shapes mean, at most kParetoShapes: "interleaved"
  double capacity = 0;                // bytes of a device, less what is to be spared; 0 = no line
  double tokens = 0;                  // of one step, the same for all; 0 = no rate
  std::vector<ParetoLetter> letters;
  std::vector<std::size_t> front;  // points of the front and the best, by time; see find_front
};
inline constexpr std::size_t kParetoShapes = 4;

/// Fills `front` from the fates: by step time, then memory, then id.
void find_front(ParetoModel&);

enum class ParetoAxis : std::uint8_t { Memory, Step, Money, Rate };
inline constexpr int kParetoAxes = 4;
std::string_view to_string(ParetoAxis);  // "memory", "time", "money", "rate": words of a flag
std::string_view title_of(ParetoAxis);   // "peak memory of the fullest device"
/// The model has figures for it.
bool has_axis(const ParetoModel&, ParetoAxis);
/// Seconds, bytes, dollars per step or tokens per second.
double value_of(const ParetoModel&, const ParetoPoint&, ParetoAxis);
std::string value_text(double value, ParetoAxis);  // "52.4 GiB"

/// A rectangle over the plot, in the axes' values; both ends belong to it.
struct ParetoBrush {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
  friend bool operator==(const ParetoBrush&, const ParetoBrush&) = default;
};

struct ParetoState {
  ParetoAxis x = ParetoAxis::Memory, y = ParetoAxis::Step;
  std::optional<ParetoBrush> brush;
  std::optional<std::size_t> selected;  // into points
  std::optional<ParetoFate> only;       // the others step back
};
bool in_brush(const ParetoModel&, const ParetoPoint&, const ParetoState&);

/// The stair of the two axes: points of the front that no other of it beats on both, from left to
/// right. Every one is better on y than all before it.
std::vector<std::size_t> stair(const ParetoModel&, ParetoAxis x, ParetoAxis y);
/// Points of the front from left to right; ties from better to worse.
std::vector<std::size_t> walk(const ParetoModel&, ParetoAxis x, ParetoAxis y);
/// The next of walk() to the right (+1) or left (-1) of a point, whether it is of the front or not;
/// stays at the ends; from nothing, the best, or the leftmost. Nothing without a front.
std::optional<std::size_t> step_along(const ParetoModel&, const ParetoState&, int direction);
/// The first of the front by what was searched for; nothing without one.
std::optional<std::size_t> best_of(const ParetoModel&);

/// "12 plans on the front, best 3.885 s at 79.0 GiB; 262 of 814 fit": for assistive tools.
std::string pareto_words(const ParetoModel&);
/// What a tooltip says of a point: plan, its words; reason, why it lost, may be empty.
Hover describe_point(const ParetoModel&, std::size_t point, const std::string& plan,
                     const std::string& reason);

/// Points as in the model; words: the settings of a plan by its id, may be empty.
DataTable pareto_table(const ParetoModel&, const std::function<std::string(std::uint64_t)>& words);

}  // namespace trainyard
