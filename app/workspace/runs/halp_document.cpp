#include "app/workspace/runs/halp_document.h"

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

}  // namespace

Json halp_schema() { return halp_fields().schema(); }

std::string halp_document(const HalpStudy& s) { return write_json(halp_fields().write(s)); }

}  // namespace trainyard
