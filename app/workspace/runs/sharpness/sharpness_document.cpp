#include "app/workspace/runs/sharpness/sharpness_document.h"

#include "core/io/json/fields.h"

namespace trainyard {
namespace {

struct DelayedRate {
  double updates = 0;
  std::optional<double> rate;
};

std::vector<DelayedRate> delayed_rates(const SharpnessAnswer& answer) {
  std::vector<DelayedRate> rates;
  for (const double delay : kJudgedDelays) rates.push_back({delay, answer.stable_rate(delay)});
  return rates;
}

Fields<StageRates> stage_rates_fields() {
  return {{"stage", &StageRates::stage, whole(0)},
          {"delay", &StageRates::delay, number(), "of gradients, mean, in updates"},
          {"oldest", &StageRates::oldest, whole(0), "largest delay of a microbatch"},
          {"stable_rate", &StageRates::plain, "largest of plain descent with the mean delay"},
          {"stable_rate_of_plan", &StageRates::own,
           "largest of the plan's own updates with the largest delay"},
          {"first_rate", &StageRates::first_rate, number(), "of its first update"}};
}

Fields<SharpnessAnswer> sharpness_fields() {
  const auto of = [](auto member) { return in(&SharpnessAnswer::sharpness, member); };
  const auto slice = [](auto member) { return in(&SharpnessAnswer::slice, member); };
  const Fields<DelayedRate> delayed = {{"updates", &DelayedRate::updates, "that gradients are old"},
                                       {"rate", &DelayedRate::rate}};
  return document_fields<SharpnessAnswer>(
      "trainyard/sharpness",
      {{"model", &SharpnessAnswer::model},
       {"data", &SharpnessAnswer::data},
       {"optimizer", &SharpnessAnswer::optimizer},
       {"parameters", &SharpnessAnswer::parameters},
       {"batch", &SharpnessAnswer::batch, "samples over which the loss is a mean"},
       {"steps", &SharpnessAnswer::steps, "trained before"},
       {"rate", &SharpnessAnswer::rate, number(), "that is judged"},
       {"sharpness", of(&Sharpness::eigenvalue), number(), "largest eigenvalue of the Hessian"},
       {"products", of(&Sharpness::products), whole(), "of the Hessian with a vector"},
       {"change", of(&Sharpness::change), number(), "by the last of them, as a share"},
       {"residual", of(&Sharpness::residual), finite_number(),
        "an eigenvalue lies that near, as a share"},
       {"settled", of(&Sharpness::settled)},
       {"loss", of(&Sharpness::loss), finite_number()},
       {"gradient_norm", of(&Sharpness::gradient_norm), finite_number()},
       {"stable_rate", [](const SharpnessAnswer& a) { return a.stable_rate(0); },
        "largest of plain descent"},
       {"stable_rate_of_momentum",
        [](const SharpnessAnswer& a) { return a.stable_rate_of_momentum(); },
        "largest of momentum; without momentum that of plain descent"},
       {"stable_rates_of_old_gradients", delayed_rates, list_of(object(delayed))},
       {"schedule", &SharpnessAnswer::schedule, kWhereSet, "of an asynchronous plan"},
       {"stages", &SharpnessAnswer::stages, list_of(object(stage_rates_fields())), kWhereSet,
        "of an asynchronous plan"},
       {"stable_rate_of_plan", [](const SharpnessAnswer& a) { return a.own_stable_rate(); },
        "largest of the plan's own updates: that of its strictest stage, else that of momentum"},
       {"largest_batch", [](const SharpnessAnswer& a) { return a.largest_batch(); },
        "up to which a rate that grows with it is stable"},
       {"offsets", slice(&LossSlice::offsets), list_of(number()), kWhereSet, "of the slice"},
       {"loss_sharpest", slice(&LossSlice::sharpest), list_of(finite_number()), kWhereSet},
       {"loss_random", slice(&LossSlice::random), list_of(finite_number()), kWhereSet}});
}

}  // namespace

std::string sharpness_document(const SharpnessAnswer& answer) {
  return write_json(sharpness_fields().write(answer));
}

Json sharpness_schema() { return sharpness_fields().schema(); }

}  // namespace trainyard
