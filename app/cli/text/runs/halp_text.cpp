#include "app/cli/text/runs/halp_text.h"

#include "app/cli/text/lines.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

Fields<HalpRound> halp_round_fields() {
  return {{"gradient_norm", &HalpRound::gradient_norm, number(), "of the full gradient"},
          {"step", &HalpRound::step, number(), "of the grid"},
          {"error", &HalpRound::distance, number(),
           "distance from the solution after the round, as a share of the first one"},
          {"clipped", &HalpRound::clipped, whole(), "offsets that lay beyond the grid"}};
}

Fields<HalpRow> halp_row_fields() {
  return {
      {"bits", &HalpRow::bits, whole(2, 16)},
      {"convergence", [](const HalpRow& r) { return to_string(r.centred.convergence()); },
       "converges, stalls or diverges, by the norms of the full gradient"},
      {"contractions", [](const HalpRow& r) { return r.centred.contractions(); }, whole(),
       "rounds that made the full gradient smaller"},
      {"error", [](const HalpRow& r) { return r.centred.error(); }, number()},
      {"fixed_grid_error", [](const HalpRow& r) { return r.fixed.error(); }, number(),
       "where the grid stays as it was in the first round"},
      {"rounds", in(&HalpRow::centred, &HalpRun::rounds), list_of(object(halp_round_fields()))}};
}

Fields<HalpStudy> halp_fields() {
  const auto of = [](auto member) { return in(&HalpStudy::question, member); };
  return document_fields<HalpStudy>(
      "trainyard/halp",
      {{"mu", of(&HalpQuestion::mu), number(), "strong convexity that the grid assumes"},
       {"rate", of(&HalpQuestion::rate), number()},
       {"samples", of(&HalpQuestion::samples), whole(1)},
       {"weights", of(&HalpQuestion::weights), whole(1)},
       {"inner", of(&HalpQuestion::inner), whole(1), "steps of a round"},
       {"least_curvature", &HalpStudy::least_curvature, number()},
       {"most_curvature", &HalpStudy::most_curvature, number()},
       {"float_error", in(&HalpStudy::floats, &HalpRun::error), number(), "of SVRG in floats"},
       {"rows", &HalpStudy::rows, list_of(object(halp_row_fields()))}});
}

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

Json halp_schema() { return halp_fields().schema(); }

std::string halp_document(const HalpStudy& s) { return write_json(halp_fields().write(s)); }

}  // namespace trainyard
