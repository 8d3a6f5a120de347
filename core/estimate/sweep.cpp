#include "core/estimate/sweep.h"

#include "core/result/figures.h"

namespace trainyard {
namespace {

// "bubble: 34.7 % of device time"
std::string limit_words(const Result& r) {
  constexpr std::string_view kLead = "Limited by ";
  const std::string& words = r.verdict.limit;
  return words.starts_with(kLead) ? words.substr(kLead.size()) : words;
}

// Errors of a plan are a line each.
std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "; ");
  return text;
}

}  // namespace

std::size_t combinations(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.values.size() > kMostCombinations) return kMostCombinations + 1;
    count *= axis.values.size();
    if (count > kMostCombinations) return kMostCombinations + 1;
  }
  return count;
}

std::string_view verdict_word(const SweepRow& row) {
  return row.fit ? to_string(*row.fit) : std::string_view("no plan");
}

std::string plan_words(const SweepRow& row) {
  return !row.result ? "" : row.plan.empty() ? "the only plan" : row.plan;
}

std::string remark(const SweepRow& row) {
  std::string words = row.result ? limit_words(*row.result) : "";
  if (row.fits()) return words;
  return words + (words.empty() ? "" : "; ") + one_line(row.reason);
}

std::size_t SweepStudy::digit(std::size_t combination, std::size_t axis) const {
  for (std::size_t a = axes.size(); --a > axis;) combination /= axes[a].values.size();
  return combination % axes[axis].values.size();
}

std::string axis_words(const SweepStudy& study, std::size_t combination, std::size_t axis) {
  const std::string& name = study.axes[axis].name;
  return (name == "model" || name == "cluster" ? "" : name + " ") + study.value(combination, axis);
}

std::string combination_words(const SweepStudy& study, std::size_t combination) {
  std::string words;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].values.size() > 1)
      words += (words.empty() ? "" : ", ") + axis_words(study, combination, a);
  return words;
}

std::string_view to_string(SweepFigure figure) {
  constexpr std::string_view kWords[] = {"step", "throughput", "cost", "mfu", "peak"};
  return kWords[static_cast<std::size_t>(figure)];
}

bool higher_is_better(SweepFigure figure) {
  return figure == SweepFigure::Throughput || figure == SweepFigure::Mfu;
}

std::optional<Banded<double>> figure_of(const SweepRow& row, SweepFigure figure) {
  if (!row.result) return std::nullopt;
  const Result& r = *row.result;
  switch (figure) {
    case SweepFigure::Step:
      return Banded<double>{to_seconds(r.step.value), to_seconds(r.step.low),
                            to_seconds(r.step.high), r.step.basis};
    case SweepFigure::Throughput:
      return rate(r);
    case SweepFigure::Cost:
      return money_for_work(r);
    case SweepFigure::Mfu:
      return utilisation(r);
    case SweepFigure::Peak:
      break;
  }
  const StageMemory* most = fullest(r);
  if (most == nullptr) return std::nullopt;
  const auto bytes = [](Bytes b) { return static_cast<double>(b.value); };
  return Banded<double>{bytes(most->peak.value), bytes(most->peak.low), bytes(most->peak.high),
                        most->peak.basis};
}

std::optional<std::size_t> best_row(const SweepStudy& study, SweepFigure figure) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const std::optional<Banded<double>> value =
        study.rows[i].fits() ? figure_of(study.rows[i], figure) : std::nullopt;
    if (!value) continue;
    const double rank = higher_is_better(figure) ? -value->value : value->value;
    if (!best || rank < least) best = i, least = rank;
  }
  return best;
}

}  // namespace trainyard
