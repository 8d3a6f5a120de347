#include "app/cli/text/result_text.h"
#include "app/cli/text/lines.h"
#include "app/cli/text/rule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "core/result/carbon.h"
#include "core/result/figures.h"
#include "core/result/training_cost.h"
#include "core/timeline/compare.h"

namespace trainyard {
namespace {

// "70.6 billion"
std::string large(double count) {
  const std::pair<double, const char*> scales[] = {
      {1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (const auto& [scale, word] : scales)
    if (count >= scale) return fmt::format("{:.3g}{}", count / scale, word);
  return fmt::format("{:.0f}", count);
}

std::string plan_words(const Plan& plan) {
  std::string text;
  for (const Setting& one : settings()) {
    const std::string value = one.key == "order" && !plan.order.empty() ? "edited" : one.read(plan);
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", one.key, value);
  }
  return text;
}

// A step time is never printed without what the step is worth.
void write_asynchrony(Out& out, const Result& r, const Asynchrony& a) {
  line(out, "asynchrony    {}", a.sentence);
  line(out, "              the progress of one synchronous step takes {} ({})",
       readable_step(effective_step(r.step.value, a)), to_string(a.provenance));
  if (r.counts_tokens && r.step.value > Duration{})
    line(out,
         "effective     {:.0f} tokens/s; {:.3g} days for what 10^12 tokens teach without delay",
         tokens_per_second(r) / a.token_overhead.value,
         days_per_trillion_tokens(tokens_per_second(r), a));
}

// Energy says beside its sum what waiting takes of it, and what rated power would make of the step.
void write_energy(Out& out, const Result& r) {
  if (!r.energy) return;
  const auto kwh = [](Joules energy) { return energy.value / 3.6e6; };
  line(out,
       "energy        {:.3g} kWh a step ({:.3g} to {:.3g}), {:.0f} W a device\n              {}",
       kwh(r.energy->value), kwh(r.energy->low), kwh(r.energy->high), mean_draw(r).value,
       r.energy->basis);
  if (const std::optional<EnergyParts> parts = energy_parts(r))
    line(out,
         "              {:.3g} kWh of it while devices work, {:.3g} while they wait; {:.3g} at "
         "board "
         "power throughout",
         kwh(parts->working().value), kwh(parts->idle.value), kwh(parts->at_board));
  if (r.site.overhead > 1)
    line(out, "              {:.3g} kWh a step with the building (PUE {:.3g})",
         kwh(site_energy(*r.energy, r.site).value), r.site.overhead);
  if (const std::optional<Banded<double>> emitted = carbon(r))
    line(out,
         "carbon        {:.3g} kg of CO2 equivalents a step ({:.3g} to {:.3g})\n              {}",
         emitted->value, emitted->low, emitted->high, emitted->basis);
}

void write_speed(Out& out, const Result& r) {
  const double s = to_seconds(r.step.value);
  line(out, "step          {} ({} to {})", readable_step(r.step.value), readable(r.step.low),
       readable(r.step.high));
  if (s > 0 && r.counts_tokens)
    line(out, "throughput    {} tokens/s, {} tokens/s a device",
         readable_rate(r.tokens_per_step / s), readable_rate(rate_per_device(r).value));
  if (s > 0 && !r.counts_tokens)
    line(out, "throughput    {} samples/s, {} samples/s a device",
         readable_rate(r.samples_per_step / s), readable_rate(rate_per_device(r).value));
  const char* label = "documents";
  for (const std::string& sentence : document_sentences(r))
    line(out, "{:<13} {}", std::exchange(label, ""), sentence);
  if (r.asynchrony) write_asynchrony(out, r, *r.asynchrony);
  if (r.gradient_traffic) line(out, "exchanged     {}", r.gradient_traffic->sentence);
  if (r.input) line(out, "input         {}", r.input->sentence);
  if (r.evaluation) line(out, "evaluation    {}", evaluation_sentence(*r.evaluation, r.step.value));
  line(out, "utilisation   MFU {}, HFU {} of {} dense", readable_share(r.mfu),
       readable_share(r.hfu), readable(r.peak_flops));
  std::string stated;
  for (const auto& [definition, share] : r.stated_mfu)
    stated += fmt::format("{}{} as {}", stated.empty() ? "" : "; ", readable_share(share),
                          info(definition).formula);
  if (!stated.empty()) line(out, "              others count {}", stated);
  line(out, "lost          bubble {}, exposed communication {}", readable_share(r.bubble_fraction),
       readable_share(r.exposed_communication_fraction));
  if (!r.rules.empty()) line(out, "rules         {} fired on the timeline", r.rules.size());
  write_fired(out, r.rules);
  for (const Assumed& one : r.assumptions) line(out, "assumed       {}", one.sentence);
  write_energy(out, r);
  if (r.money)
    line(out, "money         {:.3g} US dollars a step ({:.3g} to {:.3g})", r.money->value,
         r.money->low, r.money->high);
}

// The first and the last phases, and how many there are between.
void write_ramp(Out& out, const Result& r) {
  if (r.ramp.empty()) return;
  line(out, "\nbatch ramp    {}", ramp_sentence(r));
  const char* const what = r.counts_tokens ? "tokens/s" : "samples/s";
  line(out, "  {:>14} {:>10} {:>10} {:>10} {:>12} {:>8} {:>10}", "from sample", "batch", "steps",
       "step", what, "MFU", "peak");
  constexpr std::size_t kShownAtEnds = 6;
  for (std::size_t i = 0; i < r.ramp.size(); ++i) {
    if (r.ramp.size() > 2 * kShownAtEnds && i == kShownAtEnds) {
      i = r.ramp.size() - kShownAtEnds;
      line(out, "  {:>14} {} phases more; --json has them all", "and", i - kShownAtEnds);
    }
    const PricedPhase& p = r.ramp[i];
    const double s = to_seconds(p.step.value);
    line(out, "  {:>14} {:>10} {:>10} {:>10} {:>12} {:>8} {:>10}", p.phase.first_sample,
         p.phase.batch, p.phase.steps > 0 ? fmt::format("{}", p.phase.steps) : "all others",
         readable_step(p.step.value), readable_rate(s > 0 ? p.work / s : 0), readable_share(p.mfu),
         readable(p.peak));
  }
}

Bytes of(const StageMemory& stage, Category category) {
  return stage.categories[static_cast<std::size_t>(category)];
}

void write_memory(Out& out, const Result& r) {
  const bool alike = std::all_of(r.memory.begin(), r.memory.end(),
                                 [](const StageMemory& m) { return m.capacity.value == 0; });
  if (alike)
    line(out, "\nmemory of each device at its peak, of {}", readable(r.capacity));
  else
    line(out, "\nmemory of each device at its peak, of what its kind has");
  line(out, "  {:>6} {:>10} {:>10}  {:>10} {:>10} {:>10} {:>11} {:>10} {:>10} {:>10}", "device",
       "peak", "at", "weights", "gradients", "optimizer", "activations", "traffic", "workspace",
       "framework");
  for (const StageMemory& m : r.memory)
    line(out, "  {:>6} {:>10} {:>10}  {:>10} {:>10} {:>10} {:>11} {:>10} {:>10} {:>10}{}",
         m.device.value, readable(m.peak.value), readable(m.at), readable(of(m, Category::Weights)),
         readable(of(m, Category::Gradients)), readable(of(m, Category::OptimizerState)),
         readable(of(m, Category::Activations) + of(m, Category::Recomputed)),
         readable(of(m, Category::Communication)), readable(of(m, Category::Workspace)),
         readable(of(m, Category::Framework)), alike ? "" : "  of " + readable(m.capacity));
  if (r.host) {
    const Bytes has = r.host->capacity.value;
    line(out, "  host: {} for a device at most, {} for a node, {}", readable(r.host->device),
         readable(r.host->node),
         has.value > 0 ? "of " + readable(has) : std::string("whose memory is not stated"));
    const Bytes nvme_has = r.host->nvme_capacity.value;
    if (r.host->nvme_device.value > 0)
      line(out, "  NVMe: {} for a device at most, {} for a node, {}", readable(r.host->nvme_device),
           readable(r.host->nvme_node),
           nvme_has.value > 0 ? "of " + readable(nvme_has) : "whose size is not stated");
    line(out, "  {}", r.host->basis);
  }
  for (const StageMemory& m : r.memory)
    if (m.reserved > m.peak.value)
      line(out, "  device {}: {} reserved for it", m.device.value, readable(m.reserved));
  for (const StageMemory& m : r.memory)
    if (m.replay)
      line(out,
           "  allocator of device {}: {} asked for, {} in blocks, {} reserved; then free in "
           "segments "
           "of 2 MiB {}, of 20 MiB {}, of their own {}",
           m.device.value, readable(m.replay->requested), readable(m.replay->allocated),
           readable(m.replay->reserved), readable(m.replay->small_free),
           readable(m.replay->shared_free), readable(m.replay->own_free));
}

void write_evidence(Out& out, const Evidence& evidence) {
  line(out, "evidence: {}", evidence.sentence);
  if (evidence.nearest.size() < 2) return;
  std::string ids;
  for (const NearRow& row : evidence.nearest)
    ids += fmt::format("{}{} ({:.2f})", ids.empty() ? "" : ", ", row.id, row.distance);
  line(out, "nearest published rows: {}", ids);
}

void write_peak_parts(Out& out, const Verdict& verdict) {
  if (verdict.peak_parts.empty()) return;
  line(out, "\nwhat makes the peak of device {}", verdict.worst_device.value);
  for (std::size_t i = 0; i < std::min<std::size_t>(8, verdict.peak_parts.size()); ++i)
    line(out, "  {:>10}  {}", readable(verdict.peak_parts[i].bytes), verdict.peak_parts[i].name);
}

void write_breakdown(Out& out, const Result& r) {
  const Breakdown& b = r.breakdown;
  line(out, "\ntime of critical device {}, exposed", r.critical_device.value);
  for (const auto& [name, part] : breakdown_parts())
    if (const Duration time = b.*part; time.count() > 0)
      line(out, "  {:<17} {:>10}  {:>6}", name, readable_step(time),
           readable_share(share(b, time)));
  if (!r.verdict.limit.empty()) line(out, "{}", r.verdict.limit);
}

void write_fix(Out& out, const Fix& fix) {
  const std::string quote = fix.set.find(' ') == std::string::npos ? "" : "\"";
  line(out, "  --set {}{}{}", quote, fix.set, quote);
  line(out, "      {}", fix.sentence);
}

void write_changes(Out& out, const Result& r) {
  const Verdict& verdict = r.verdict;
  if (!verdict.fixes.empty()) {
    const bool any = verdict.fixes.front().fits;
    line(out, "\n{}",
         any ? "changes after which it fits, cheapest first"
             : "no change tried makes it fit; these free most");
    for (const Fix& fix : verdict.fixes) write_fix(out, fix);
  } else if (!verdict.fits && r.fidelity == "estimate") {
    line(out, "\nno change was tried: trainyard simulate tries those that free memory");
  } else if (!verdict.fits) {
    line(out, "\nno change tried frees memory: it takes more devices or a smaller model");
  }
  if (verdict.gain) {
    line(out, "\na change that is quicker and still fits");
    write_fix(out, *verdict.gain);
  }
}

}  // namespace

std::string result_text(const Result& r) {
  Out out;
  line(out, "{}\n", r.verdict.sentence);
  line(out, "{}, {} parameters{}{}, on {} ({})", r.model_name,
       large(static_cast<double>(r.parameters)),
       r.active_parameters < r.parameters
           ? ", " + large(static_cast<double>(r.active_parameters)) + " of them active"
           : "",
       r.trained_parameters
           ? ", " + large(static_cast<double>(*r.trained_parameters)) + " of them trained"
           : "",
       r.cluster_name, r.fidelity);
  line(out, "{}\n", plan_words(r.plan));
  write_speed(out, r);
  write_ramp(out, r);
  write_memory(out, r);
  write_peak_parts(out, r.verdict);
  write_breakdown(out, r);
  write_changes(out, r);
  line(out, "\nband: {}", r.step.basis);
  if (r.evidence) write_evidence(out, *r.evidence);
  line(out, "left out:");
  for (const std::string& sentence : r.leaves_out) line(out, "  {}", sentence);
  return out;
}

}  // namespace trainyard
