#include "app/cli/text/runs/gate_text.h"

#include <algorithm>
#include <string>

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

void packed_tensors(Out& out, const GateReport& report) {
  if (report.tensors.empty()) return;
  line(out, "\nStored without loss, of the bytes of 8-bit numbers:");
  line(out, "  {:<44} {:>12} {:>8} {:>11}", "tensor of the reference", "numbers", "ratio",
       "worst tile");
  for (const LosslessTensor& tensor : report.tensors)
    line(out, "  {:<44} {:>12} {:>8.3f} {:>11.3f}", tensor.name, tensor.numbers, tensor.ratio,
         tensor.worst_ratio);
}

void vector_table(Out& out, const GateReport& report) {
  if (report.vectors.empty()) return;
  line(out, "\nSignal of the reference's weights over the noise of {} bits, in dB:",
       report.vectors.front().bits);
  line(out, "  {:<12} {:>15} {:>8}", "a scale for", "bits of a scale", "signal");
  for (const VectorNoise& one : report.vectors)
    line(out, "  {:<12} {:>15} {:>8.1f}", one.vector > 0 ? std::to_string(one.vector) : "a channel",
         one.scale_bits > 0 ? std::to_string(one.scale_bits) : "32", one.decibels);
}

}  // namespace

std::string gate_text(const GateReport& report) {
  Out out;
  line(out, "{} on {}, {} questions a task", report.model, report.data,
       report.tasks.front().questions);
  line(out, "reference {}, {} of weights", report.reference,
       readable(whole_bytes(report.reference_bytes)));
  for (const GatedModel& model : report.models) judged_model(out, report, model);
  packed_tensors(out, report);
  vector_table(out, report);
  line(out, "");
  for (const std::string& sentence : gate_sentences(report)) line(out, "{}", sentence);
  line(out,
       "\nInstability: answers that are right in one model alone. Flips: answers that change.\n"
       "Excess error: the error beyond the reference's, with its 95 % interval.");
  return out;
}

}  // namespace trainyard
