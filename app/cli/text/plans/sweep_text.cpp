#include "app/cli/text/plans/sweep_text.h"

#include <algorithm>
#include <vector>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

std::string money_text(double dollars) {
  return dollars < 99.95 ? fmt::format("{:.3g}", dollars) : fmt::format("{:.0f}", dollars);
}

std::string work_name(const Result& r) { return r.counts_tokens ? "tokens" : "samples"; }

// The columns whose cells are padded to equal width. What is behind them may be long.
using TextRow = std::vector<std::string>;

TextRow heads_of(const SweepStudy& study) {
  TextRow heads;
  for (const SweepAxis& axis : study.axes)
    if (axis.values.size() > 1) heads.push_back(axis.name);
  heads.insert(heads.end(), {"verdict", "step", "band", "per second", "per device", "MFU", "memory",
                             "spare", "$/step", "$/work", "energy"});
  return heads;
}

TextRow cells_of(const SweepStudy& study, std::size_t i) {
  const SweepRow& row = study.rows[i];
  TextRow cells;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].values.size() > 1) cells.push_back(study.value(i, a));
  cells.emplace_back(verdict_word(row));
  if (!row.result) return cells;
  const Result& r = *row.result;
  const std::optional<Banded<double>> money = money_for_work(r);
  cells.push_back(readable_step(r.step.value));
  cells.push_back(fmt::format("{} to {}", readable(r.step.low), readable(r.step.high)));
  cells.push_back(readable_rate(rate(r).value) + (r.counts_tokens ? " tok" : " sam"));
  cells.push_back(readable_rate(rate_per_device(r).value));
  cells.push_back(readable_share(r.mfu));
  cells.push_back(readable(reserved(r)) + " of " + readable(r.capacity));
  cells.push_back(readable(r.verdict.margin));
  cells.push_back(r.money ? money_text(r.money->value) : "-");
  cells.push_back(money ? money_text(money->value) : "-");
  cells.push_back(r.energy ? readable(r.energy->value) : "-");
  return cells;
}

std::string rest_of(const SweepRow& row) {
  const std::string plan = plan_words(row), about = remark(row);
  return plan + (plan.empty() || about.empty() ? "" : "; ") + about;
}

void write_rows(Out& out, const SweepStudy& study) {
  const TextRow heads = heads_of(study);
  std::vector<std::size_t> widths;
  for (const std::string& head : heads) widths.push_back(head.size());
  std::vector<TextRow> rows;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    rows.push_back(cells_of(study, i));
    for (std::size_t c = 0; c < rows.back().size(); ++c)
      widths[c] = std::max(widths[c], rows.back()[c].size());
  }
  // Words are set from the left, figures from the right.
  const auto words =
      static_cast<std::size_t>(std::find(heads.begin(), heads.end(), "verdict") - heads.begin());
  const auto write = [&](const TextRow& cells, const std::string& rest) {
    for (std::size_t c = 0; c < cells.size(); ++c)
      out += c <= words ? fmt::format("{:<{}}  ", cells[c], widths[c])
                        : fmt::format("{:>{}}  ", cells[c], widths[c]);
    line(out, "{}", rest);
  };
  write(heads, "plan; what limits it");
  for (std::size_t i = 0; i < rows.size(); ++i) write(rows[i], rest_of(study.rows[i]));
}

std::string figure_text(const SweepRow& row, SweepFigure figure) {
  const Result& r = *row.result;
  const Banded<double> value = figure_of(row, figure).value_or(Banded<double>{});
  switch (figure) {
    case SweepFigure::Step:
      return readable_step(r.step.value);
    case SweepFigure::Throughput:
      return readable_rate(value.value) + " " + work_name(r) + " per second";
    case SweepFigure::Cost:
      return fmt::format("{} US dollars for 1 {} {}", money_text(value.value),
                         r.counts_tokens ? "billion" : "million", work_name(r));
    case SweepFigure::Mfu:
      return "MFU " + readable_share(value.value);
    case SweepFigure::Peak:
      break;
  }
  return readable(Bytes{static_cast<std::int64_t>(value.value)}) + " at the peak";
}

}  // namespace

std::string sweep_text(const SweepStudy& study, SweepFigure by) {
  Out out;
  std::string fixed;
  for (const SweepAxis& axis : study.axes)
    if (axis.values.size() == 1) fixed += fmt::format(", {} {}", axis.name, axis.values.front());
  const std::size_t all = combinations(study.axes);
  line(out, "{} {}{}{}", all, all == 1 ? "combination" : "combinations",
       study.searched ? ", each with its best plan by " + study.objective
                      : ", each with the plan as given",
       fixed);
  if (study.stopped())
    line(out, "STOPPED after {} of them: what follows is what was found so far", study.rows.size());
  line(out,
       "$/work: US dollars for 1e9 tokens, or for 1e6 samples of a model without tokens\n"
       "plan: what tells it from others; --csv and --json have all words of --set\n");
  write_rows(out, study);
  const auto fitting = std::count_if(study.rows.begin(), study.rows.end(),
                                     [](const SweepRow& row) { return row.fits(); });
  line(out, "\n{} of {} fit", fitting, study.rows.size());
  if (const auto best = best_row(study, by)) {
    const std::string words = combination_words(study, *best);
    line(out, "best by {}: {}{}", to_string(by), words.empty() ? "" : words + ": ",
         figure_text(study.rows[*best], by));
    line(out, "  --set {}", fmt::join(study.rows[*best].set, " --set "));
  }
  return out;
}

}  // namespace trainyard
