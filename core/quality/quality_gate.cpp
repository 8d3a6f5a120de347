#include "core/quality/quality_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/base/nearest.h"
#include "core/base/split_list.h"

namespace trainyard {
namespace {

using Limit = std::optional<double> GateLimits::*;
struct NamedLimit {
  std::string_view name;
  Limit limit;
};
constexpr std::array<NamedLimit, 4> kLimits = {{{"excess-error", &GateLimits::excess_error},
                                                {"instability", &GateLimits::instability},
                                                {"flips", &GateLimits::flips},
                                                {"eigenspace", &GateLimits::eigenspace}}};

double share_of(std::string_view value, const Place& place) {
  std::string_view number = value;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  double share = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), share);
  if (percent) share /= 100;
  if (read.ec != std::errc() || read.ptr != number.data() + number.size() ||
      !(share >= 0 && share <= 1))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a share from 0 to 1, as 0.005 or 0.5%, or none, found \"{}\"",
                            value.substr(0, 80)),
                place);
  return share;
}

void judge_task(const GateLimits& limits, const std::string& task, const JudgedAnswers& judged,
                std::vector<std::string>& beyond) {
  const auto limit = [&](std::optional<double> most, double found, std::string_view what,
                         std::string_view unit) {
    if (most && found > *most)
      beyond.push_back(fmt::format("{}: {} {:.2f} {}, at most {:.2f} are allowed", task, what,
                                   100 * found, unit, 100 * *most));
  };
  limit(limits.excess_error, judged.excess_error(), "the error grows by", "percentage points");
  limit(limits.instability, judged.instability(), "one model alone has right", "% of the answers");
  limit(limits.flips, judged.flips(), "other answers are", "%");
}

}  // namespace

GateLimits usual_limits() {
  GateLimits limits;
  limits.excess_error = 0.005;
  return limits;
}

void apply_limit(GateLimits& limits, std::string_view assignment, const Place& place) {
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  const std::string_view name = assignment.substr(0, equals);
  std::vector<std::string_view> names;
  for (const NamedLimit& known : kLimits) {
    if (known.name == name && equals < assignment.size()) {
      const std::string_view value = assignment.substr(equals + 1);
      limits.*known.limit = value == "none" ? std::optional<double>() : share_of(value, place);
      return;
    }
    names.push_back(known.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected a limit of {}, as instability=0.01, found \"{}\"{}",
                          fmt::join(names, ", "), assignment.substr(0, 80),
                          did_you_mean(name.substr(0, 80), names)),
              place);
}

void apply_limits(GateLimits& limits, std::string_view assignments, const Place& place) {
  for (const std::string_view word : split_list(assignments)) apply_limit(limits, word, place);
}

bool GateReport::passes() const {
  return std::all_of(models.begin(), models.end(),
                     [](const GatedModel& one) { return one.passes(); });
}

std::optional<std::size_t> GateReport::worst_corrupted(const GatedModel& one) const {
  std::optional<std::size_t> worst;
  for (std::size_t t = 1; t < one.tasks.size(); ++t)
    if (!worst || one.tasks[t].excess_error() > one.tasks[*worst].excess_error()) worst = t;
  return worst;
}

ChipErrors chip_errors(std::span<const double> errors) {
  const auto count = static_cast<double>(errors.size());
  const auto [least, most] = std::minmax_element(errors.begin(), errors.end());
  ChipErrors of{std::accumulate(errors.begin(), errors.end(), 0.0) / count, 0, *least, *most};
  double squares = 0;
  for (const double error : errors) squares += (error - of.mean) * (error - of.mean);
  of.deviation = errors.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return of;
}

void judge(GateReport& report) {
  for (GatedModel& model : report.models) {
    model.beyond.clear();
    for (std::size_t t = 0; t < model.tasks.size(); ++t)
      judge_task(report.limits, report.tasks[t].name, model.tasks[t], model.beyond);
    for (const GatedTable& table : model.tables)
      if (report.limits.eigenspace && table.instability > *report.limits.eigenspace)
        model.beyond.push_back(
            fmt::format("{}: its eigenspace moved by {:.4f}, at most {:.4f} is allowed", table.name,
                        table.instability, *report.limits.eigenspace));
  }
}

std::string reason_to_block(const GateReport& report) {
  std::string reason;
  for (const GatedModel& model : report.models)
    for (const std::string& sentence : model.beyond)
      reason += (reason.empty() ? "" : "; ") + model.name + " on " + sentence;
  return reason;
}

}  // namespace trainyard
