#include "app/cli/text/gate_text.h"

#include <algorithm>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr double kHundred = 100;

Bytes whole_bytes(double bytes) { return Bytes{static_cast<std::int64_t>(bytes)}; }

void judged_model(Out& out, const GateReport& report, const GatedModel& model) {
  line(out, "\n{}: {} of weights, {:.3g} times as many as the reference's", model.name,
       to_text(whole_bytes(model.bytes)), model.bytes / report.reference_bytes);
  line(out, "  {:<16} {:>9} {:>9} {:>16} {:>12} {:>8} {:>9}", "task", "reference", "model",
       "excess error", "instability", "flips", "loss");
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const JudgedAnswers& judged = model.tasks[t];
    line(out, "  {:<16} {:>7.2f} % {:>7.2f} % {:>6.2f} ± {:<4.2f} pp {:>10.2f} % {:>6.2f} % {:>9.4f}",
         report.tasks[t].name, kHundred * judged.first_accuracy(),
         kHundred * judged.second_accuracy(), kHundred * judged.excess_error(),
         kHundred * judged.excess_error_band(), kHundred * judged.instability(),
         kHundred * judged.flips(), model.losses[t]);
  }
  for (const GatedTable& table : model.tables)
    line(out, "  eigenspace of {}, {} rows of {}: moved by {:.4f}", table.name, table.rows,
         table.width, table.instability);
  const std::optional<std::size_t> worst = report.worst_corrupted(model);
  if (worst && model.tasks[0].excess_error() > 0 &&
      model.tasks[*worst].excess_error() > model.tasks[0].excess_error())
    line(out, "  on {} the excess error is {:.3g} times that on clean samples",
         report.tasks[*worst].name,
         model.tasks[*worst].excess_error() / model.tasks[0].excess_error());
  for (const std::string& sentence : model.beyond) line(out, "  beyond its limit on {}", sentence);
  if (model.passes()) line(out, "  passes");
}

std::string limit_words(const GateLimits& limits) {
  std::string words;
  const auto add = [&](const std::optional<double>& limit, const std::string& name, bool share) {
    if (!limit) return;
    words += words.empty() ? "" : ", ";
    words += share ? fmt::format("{} {:g} %", name, kHundred * *limit)
                   : fmt::format("{} {:g}", name, *limit);
  };
  add(limits.excess_error, "excess error", true);
  add(limits.instability, "instability", true);
  add(limits.flips, "flips", true);
  add(limits.eigenspace, "eigenspace", false);
  return words.empty() ? "none" : words;
}

}  // namespace

std::string gate_text(const GateReport& report) {
  Out out;
  line(out, "{} on {}, {} questions a task", report.model, report.data,
       report.tasks.front().questions);
  line(out, "reference {}, {} of weights; limits: {}", report.reference,
       to_text(whole_bytes(report.reference_bytes)), limit_words(report.limits));
  for (const GatedModel& model : report.models) judged_model(out, report, model);
  line(out,
       "\nInstability: answers that are right in one model alone. Flips: answers that change.\n"
       "Excess error: the error beyond the reference's, with its 95 % interval.");
  return out;
}

}  // namespace trainyard
