#include "app/cli/text/runs/halp_text.h"

#include "app/cli/text/lines.h"

namespace trainyard {
namespace {

// A run that diverges at once has no round of finite numbers.
double last_step(const HalpRun& run) { return run.rounds.empty() ? 0 : run.rounds.back().step; }

}  // namespace

std::string halp_text(const HalpStudy& s) {
  const HalpQuestion& q = s.question;
  Out out;
  line(out,
       "least squares of {} samples and {} weights, curvature {:.3g} to {:.3g}; rounds of {} steps "
       "at a rate of {:g}, mu {:g}\n",
       q.samples, q.weights, s.least_curvature, s.most_curvature, q.inner, q.rate, q.mu);
  line(out, "  {:>6} {:>10} {:>12} {:>12} {:>12} {:>9} {:>11} {:>9}", "bits", "", "error",
       "grid stays", "last step", "clipped", "contracting", "of rounds");
  for (const HalpRow& row : s.rows)
    line(out, "  {:>6} {:>10} {:>12.2e} {:>12.2e} {:>12.2e} {:>9} {:>11} {:>9}", row.bits,
         to_string(row.centred.convergence()), row.centred.error(), row.fixed.error(),
         last_step(row.centred), row.centred.clipped(), row.centred.contractions(),
         row.centred.rounds.size());
  line(out, "  {:>6} {:>10} {:>12.2e}", "floats", to_string(s.floats.convergence()),
       s.floats.error());
  line(out, "");
  for (const std::string& sentence : halp_sentences(s)) line(out, "{}", sentence);
  return out;
}

}  // namespace trainyard
