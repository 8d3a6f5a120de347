#include "app/cli/text/gate_text.h"

#include <algorithm>

#include "app/cli/text/lines.h"
#include "app/workspace/quality/gate_chart.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr double kHundred = 100;

Bytes whole_bytes(double bytes) { return Bytes{static_cast<std::int64_t>(bytes)}; }

void judged_model(Out& out, const GateReport& report, const GatedModel& model) {
  line(out, "\n{}: {} of weights, {:.3g} times as many as the reference's", model.name,
       readable(whole_bytes(model.bytes)), model.bytes / report.reference_bytes);
  line(out, "  {:<16} {:>9} {:>9} {:>16} {:>12} {:>8} {:>9}", "task", "reference", "model",
       "excess error", "instability", "flips", "loss");
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const JudgedAnswers& judged = model.tasks[t];
    line(out,
         "  {:<16} {:>7.2f} % {:>7.2f} % {:>6.2f} ± {:<4.2f} pp {:>10.2f} % {:>6.2f} % {:>9.4f}",
         report.tasks[t].name, kHundred * judged.first_accuracy(),
         kHundred * judged.second_accuracy(), kHundred * judged.excess_error(),
         kHundred * judged.excess_error_band(), kHundred * judged.instability(),
         kHundred * judged.flips(), model.losses[t]);
  }
}

}  // namespace

std::string gate_text(const GateReport& report) {
  Out out;
  line(out, "{} on {}, {} questions a task", report.model, report.data,
       report.tasks.front().questions);
  line(out, "reference {}, {} of weights", report.reference,
       readable(whole_bytes(report.reference_bytes)));
  for (const GatedModel& model : report.models) judged_model(out, report, model);
  line(out, "");
  for (const std::string& sentence : gate_sentences(report)) line(out, "{}", sentence);
  line(out,
       "\nInstability: answers that are right in one model alone. Flips: answers that change.\n"
       "Excess error: the error beyond the reference's, with its 95 % interval.");
  return out;
}

}  // namespace trainyard
