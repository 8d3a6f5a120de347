#include "app/cli/text/plans/placement_text.h"

#include "app/cli/text/lines.h"
#include "app/workspace/plans/placement_chart.h"
#include "core/base/units_text.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

std::string placement_text(const PlacementStudy& study) {
  const PlacementQuestion& q = study.question;
  Out out;
  line(out,
       "{} of {} and {:.4g} GB; {} of {} jobs that ask for {:.3g} % of the devices, none of the {} "
       "that imitations learned from ({} decisions)\n",
       counted(q.traces.nodes.count, "node"), counted(q.traces.nodes.devices, "device"),
       static_cast<double>(q.traces.nodes.bytes) / 1e9, counted(q.held_out, "trace"), q.traces.jobs,
       100 * q.traces.load, q.training, study.learned_from);
  line(out, "  {:<20} {:>8} {:>9} {:>8} {:>7}", "jobs", "devices", "peak", "median", "weight");
  for (const JobKind& kind : q.traces.kinds)
    line(out, "  {:<20} {:>8} {:>6.4g} GB {:>8} {:>7.3g}", kind.name, kind.devices,
         static_cast<double>(peak_of(kind.wave)) / 1e9, format_duration(kind.median), kind.weight);
  line(out, "\n  {:<38} {:>9} {:>8} {:>9} {:>6} {:>9} {:>9} {:>11}", "policy", "peak", "",
       "peak/mean", "in use", "mean wait", "rejected", "fragmented");
  for (const PolicyOutcome& one : study.policies)
    line(out, "  {:<38} {:>6.1f} GB {:>+6.1f} % {:>9.2f} {:>4.0f} % {:>9} {:>9.2f} {:>9.0f} %",
         one.name, one.peak / 1e9, 100 * one.against_base, one.peak_to_mean, 100 * one.utilisation,
         format_duration(seconds(one.mean_wait)), one.rejected, 100 * one.fragmentation);
  line(out, "\n{}\n", placement_bound(study));
  for (const std::string& sentence : verdict_sentences(study)) line(out, "{}", sentence);
  line(out, "\nunlearnable, because hindsight knows jobs that are yet to come:");
  for (const std::string& sentence : unlearnable_sentences(study)) line(out, "  {}", sentence);
  return out;
}

}  // namespace trainyard
