#include "app/cli/text/runs/run_text.h"
#include "app/cli/text/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/cli/text/rule_text.h"
#include "app/cli/text/runs/number_text.h"
#include "app/workspace/runs/run_document.h"
#include "core/base/units_text.h"
#include "core/estimate/staleness_bars.h"
#include "core/model/layer_name.h"
#include "visualizers/run/run_troubles.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

constexpr std::size_t kColumns = 64;

// A line a layer that has a ratio: its steps between the least ratio and 1, and that of the last
// steps.
void write_layers(Out& out, const TrainingReport& r, const std::vector<std::vector<double>>& steps,
                  double least) {
  constexpr std::size_t kMostLayers = 32;
  std::size_t shown = 0, more = 0;
  for (std::size_t l = 0; !steps.empty() && l < steps.back().size(); ++l) {
    std::vector<std::vector<double>> one;
    std::vector<double> line_of;
    for (const std::vector<double>& step : steps) {
      one.push_back({step[l]});
      line_of.push_back(step[l]);
    }
    const double last = last_ratio(one);
    if (last <= 0) continue;
    if (shown == kMostLayers) {
      ++more;
      continue;
    }
    ++shown;
    line(out, "  {:<12}{} {:.3g}", layer_name(r.predicted->workload.scenario.model, l),
         sparkline(line_of, kColumns, least, 1), last);
  }
  if (more > 0) line(out, "  and {} layers more; --json has them all", more);
}

void write_troubles(Out& out, const TrainingReport& r) {
  for (const RunTrouble& trouble :
       run_troubles(r.run.flips, r.run.recovery, {r.run.kept, r.kept})) {
    if (!trouble.part)
      line(out, "{:<14}{}", trouble.name, trouble.words);
    else if (trouble.name.empty())
      line(out, "  {}", trouble.words);
    else
      line(out, "  {:<11} {}", trouble.name, trouble.words);
  }
}

void write_loss(Out& out, const TrainingReport& r) {
  const std::vector<double>& losses = r.run.losses;
  if (losses.empty()) return;
  line(out, "loss          {} at step 1, {} at step {}", loss_text(losses.front()),
       loss_text(losses.back()), losses.size());
  line(out, "              {}", sparkline(losses, kColumns));
  if (const double last = last_ratio(r.run.orthogonality); last > 0) {
    line(out,
         "orthogonality {:.3g} of the last updates, mean over layers (1 = orthogonal, {:.3g} = "
         "equal)",
         last, 1.0 / static_cast<double>(updates_combined(r)));
    line(out, "              {}", headroom_sentence(last, updates_combined(r)));
    write_layers(out, r, r.run.orthogonality, 1.0 / static_cast<double>(updates_combined(r)));
  }
  if (const auto& traffic = r.predicted->result.gradient_traffic)
    line(out, "exchanged     {}", traffic->sentence);
  if (const double last = last_ratio(r.run.energy_sent); last > 0)
    line(out,
         "              {} of the energy that had added up was sent, mean over layers of the "
         "last steps",
         readable_share(last));
  write_layers(out, r, r.run.energy_sent, 0);
  if (!r.run.staleness.empty()) {
    const StalenessBars stale = staleness_bars(r.run.staleness, 1);
    line(out,
         "staleness     {:.3g} other changes on average between a replica's fetch and its push, "
         "expected {}",
         stale.mean, ranks(r.predicted->workload.scenario.plan.mesh, Group::Data) - 1);
  }
  if (r.input)
    line(out,
         "input         {} samples decoded, {} from the cache ({}), which keeps {} of them in {}",
         r.input->misses, r.input->hits, readable_share(r.input->hit_share()), r.input->kept,
         readable(r.input->bytes));
  if (r.run.skipped > 0)
    line(out, "skipped       {} updates whose gradients had overflowed", r.run.skipped);
  write_troubles(out, r);
  for (const RunEvaluation& e : r.run.evaluations)
    line(out, "evaluation    after step {}: loss {:.4g}{} over {} samples, {}", e.step, e.loss,
         e.accuracy >= 0 ? ", " + readable_share(e.accuracy) + " right" : "", e.samples,
         readable(e.time));
  if (!r.evaluation) return;
  if (r.evaluation->mean_return) {
    line(out, "evaluation    mean return {:.4g} over {} episodes without exploration",
         *r.evaluation->mean_return, r.evaluation->samples);
    return;
  }
  line(out, "evaluation    loss {:.4g}{} over {} samples that it was not trained on",
       r.evaluation->loss,
       r.evaluation->accuracy >= 0 ? ", " + readable_share(r.evaluation->accuracy) + " right" : "",
       r.evaluation->samples);
}

void write_start(Out& out, const TrainingReport& r) {
  if (!r.started_from) return;
  const char* name = "started from ";
  for (const std::string& sentence : r.started_from->sentences()) {
    line(out, "{} {}", name, sentence);
    name = "             ";
  }
}

void write_check(Out& out, const TrainingReport& r) {
  if (r.check.empty()) return;
  line(out, "check         {}", check_sentence(r));
  if (!r.checked) return;
  const CheckReport& c = *r.checked;
  line(out, "              losses are up to {:.1e} apart, {:.1e} is allowed (of the loss)",
       c.worst_loss, c.tolerances.loss);
  line(out,
       "              parameters are up to {:.1e} apart, {:.1e} is allowed (of a layer's largest)",
       c.worst_parameter, c.tolerances.parameters);
}

void write_speed(Out& out, const TrainingReport& r) {
  line(out, "step          {} measured, {} predicted ({})",
       readable_step(r.comparison.measured_step), readable_step(r.comparison.predicted_step),
       signed_percent(r.comparison.step_share()));
  if (r.run.samples_per_second > 0)
    line(out, "throughput    {:.4g} samples/s", r.run.samples_per_second);
  if (const std::optional<RunWidths>& widths = r.run.widths)
    line(
        out,
        "widths        {} of {} to {} tokens a sample, from one program; {} of the tokens of whole "
        "sequences were computed",
        widths->distinct, widths->narrowest, widths->widest, readable_share(widths->computed));
  if (r.run.prepared && r.run.prepared->asked > 0)
    line(out,
         "prepared      {} kernels were set up for their shapes, {} of them after the second step, "
         "and found again {} times",
         r.run.prepared->created, r.run.prepared->created_late,
         r.run.prepared->asked - r.run.prepared->created);
  const Result& m = r.measured->result;
  line(out, "utilisation   MFU {} of {} dense, bubble {}, exposed communication {}",
       readable_share(m.mfu), readable(m.peak_flops), readable_share(m.bubble_fraction),
       readable_share(m.exposed_communication_fraction));
}

void write_phases(Out& out, const TrainingReport& r) {
  if (r.phases.empty()) return;
  line(out, "\nphases of the batch ramp; a step, measured and predicted");
  line(out, "  {:>12} {:>8} {:>8} {:>10} {:>10} {:>10} {:>9} {:>15}", "from sample", "batch",
       "steps", "rate", "measured", "predicted", "apart", "predicted peak");
  for (const TrainedPhase& p : r.phases) {
    const bool known = p.measured > Duration{};
    line(out, "  {:>12} {:>8} {:>8} {:>10.4g} {:>10} {:>10} {:>9} {:>15}", p.batches.first_sample,
         p.batches.batch, p.steps, p.rate, known ? readable_step(p.measured) : "-",
         readable_step(p.predicted),
         known ? signed_percent(to_seconds(p.measured) / to_seconds(p.predicted) - 1) : "-",
         readable(p.predicted_peak));
  }
}

Bytes of(const DeviceMemory& m, Category category) {
  return m.most_by_category[static_cast<std::size_t>(category)];
}

void write_memory(Out& out, const TrainingReport& r) {
  line(out, "\nmemory of each device, measured; every category at its own most");
  const auto aligned = [&](const std::string& words) {
    return r.aligned_peak ? fmt::format("{:>10} ", words) : "";
  };
  line(out, "  {:>6} {:>10} {:>10} {}{:>8}  {:>10} {:>10} {:>10} {:>11} {:>10} {:>10}", "device",
       "peak", "predicted", aligned("aligned"), "apart", "weights", "gradients", "optimizer",
       "activations", "traffic", "workspace");
  const std::size_t shown = std::min<std::size_t>(r.run.memory.size(), 16);
  for (std::size_t i = 0; i < shown; ++i) {
    const DeviceMemory& m = r.run.memory[i];
    const WaveResidual& wave = r.comparison.waves[m.device.value];
    const std::string name = m.peer > 0 ? fmt::format("{}.{}", m.device.value, m.peer)
                                        : fmt::format("{}", m.device.value);
    line(out, "  {:>6} {:>10} {:>10} {}{:>8}  {:>10} {:>10} {:>10} {:>11} {:>10} {:>10}", name,
         readable(m.most), readable(wave.predicted_peak),
         aligned(readable(r.aligned_peak.value_or(Bytes{}))),
         readable_share(wave.over_work_share()), readable(of(m, Category::Weights)),
         readable(of(m, Category::Gradients)), readable(of(m, Category::OptimizerState)),
         readable(of(m, Category::Activations) + of(m, Category::Recomputed)),
         readable(of(m, Category::Communication)), readable(of(m, Category::Workspace)));
  }
  if (shown < r.run.memory.size())
    line(out, "  and {} devices more; --json has them all", r.run.memory.size() - shown);
  line(out,
       "  apart: farthest that the measured wave is from the predicted one at the same point "
       "of the work");
  if (r.aligned_peak)
    line(out, "  aligned: predicted without the offset between the waves that share a device");
  Bytes scratch{}, host{}, nvme{};
  double load = 0, dropped = 0;
  for (const DeviceMemory& m : r.run.memory) {
    scratch = std::max(scratch, m.scratch);
    host = std::max(host, m.host);
    nvme = std::max(nvme, m.nvme);
    load = std::max(load, m.load);
    dropped += m.dropped / static_cast<double>(r.run.memory.size());
  }
  if (load > 0)
    line(out,
         "  routed experts: up to {:.2f} times an equal share of the copies of tokens came to a "
         "device, which is predicted to have an equal share",
         load);
  if (dropped > 0)
    line(out, "  routed experts: {} of the copies of tokens found no place and were dropped",
         readable_share(dropped));
  if (host.value > 0)
    line(out, "  host: up to {} for a device measured, {} predicted", readable(host),
         r.predicted->result.host ? readable(r.predicted->result.host->device) : "none");
  if (nvme.value > 0)
    line(out, "  NVMe: up to {} for a device measured, {} predicted", readable(nvme),
         r.predicted->result.host ? readable(r.predicted->result.host->nvme_device) : "none");
  if (scratch.value > 0)
    line(out, "  kernels took up to {} of a thread's own beside it", readable(scratch));
}

void write_causes(Out& out, const TrainingReport& r) {
  const TimelineComparison& c = r.comparison;
  line(out, "\ntime of device {}, measured and predicted", c.device.value);
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, c.measured_step.count()));
  for (const CauseResidual& cause : c.causes) {
    if (cause.predicted.count() == 0 && cause.measured.count() == 0) continue;
    line(out, "  {:<17} {:>10}  {:>10}  {:>6} of the step, residual {:>7}", cause.name,
         readable_step(cause.measured), readable_step(cause.predicted),
         readable_share(static_cast<double>(cause.measured.count()) / whole),
         signed_percent(static_cast<double>(cause.difference().count()) / whole));
  }
  line(out, "  residuals are shares of the measured step and sum to its difference");
}

}  // namespace

std::string check_sentence(const TrainingReport& r) {
  if (!r.checked) return fmt::format("stopped before {} had trained the same", r.check);
  if (r.checked->agrees()) return fmt::format("{} and {} agree", r.backend, r.check);
  return fmt::format("{} and {} differ: {}", r.backend, r.check, r.checked->difference);
}

std::string run_text(const TrainingReport& r) {
  Out out;
  const Result& p = r.predicted->result;
  const bool replayed = r.data.empty();
  line(out, "{} {} on {}; {}{}",
       replayed        ? "replayed"
       : r.run.stopped ? "stopped"
                       : "trained",
       p.model_name, p.cluster_name, replayed ? "nothing was trained" : r.data,
       r.run.first_step > 0 ? fmt::format(", resumed at step {}", r.run.first_step) : "");
  write_start(out, r);
  if (r.phases.empty() && r.rate > 0)
    line(out, "rate          {:.4g} at its peak, for updates of {} samples", r.rate,
         r.predicted->workload.scenario.plan.batch.global);
  write_loss(out, r);
  write_check(out, r);
  if (r.rules) write_rules(out, *r.rules);
  if (r.numbers) write_numbers(out, *r.numbers);
  write_phases(out, r);
  if (!r.measured) return out;
  write_speed(out, r);
  write_memory(out, r);
  write_causes(out, r);
  return out;
}

}  // namespace trainyard
