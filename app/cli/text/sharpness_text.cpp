#include "app/cli/text/sharpness_text.h"

#include <algorithm>

#include "app/cli/text/lines.h"
#include "core/io/json/fields.h"
#include "visualizers/chart/curve_view.h"

namespace trainyard {
namespace {

constexpr double kDelays[] = {1, 2, 5, 10};

struct DelayedRate {
  double updates = 0;
  std::optional<double> rate;
};

std::vector<DelayedRate> delayed_rates(const SharpnessAnswer& answer) {
  std::vector<DelayedRate> rates;
  for (const double delay : kDelays) rates.push_back({delay, answer.stable_rate(delay)});
  return rates;
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
       {"settled", of(&Sharpness::settled)},
       {"loss", of(&Sharpness::loss), finite_number()},
       {"gradient_norm", of(&Sharpness::gradient_norm), finite_number()},
       {"stable_rate", [](const SharpnessAnswer& a) { return a.stable_rate(0); },
        "largest of plain descent"},
       {"stable_rate_of_momentum",
        [](const SharpnessAnswer& a) { return a.stable_rate_of_momentum(); },
        "largest of momentum; without momentum that of plain descent"},
       {"stable_rates_of_old_gradients", delayed_rates, list_of(object(delayed))},
       {"largest_batch", [](const SharpnessAnswer& a) { return a.largest_batch(); },
        "up to which a rate that grows with it is stable"},
       {"offsets", slice(&LossSlice::offsets), list_of(number()), kWhereSet, "of the slice"},
       {"loss_sharpest", slice(&LossSlice::sharpest), list_of(finite_number()), kWhereSet},
       {"loss_random", slice(&LossSlice::random), list_of(finite_number()), kWhereSet}});
}

}  // namespace

std::string sharpness_text(const SharpnessAnswer& a) {
  Out out;
  line(out, "{}, {} parameters, {}, loss over {} samples of {}", a.model, a.parameters,
       a.steps == 0 ? std::string("before training") : fmt::format("after {} updates", a.steps),
       a.batch, a.data);
  const Sharpness& s = a.sharpness;
  line(out, "\nsharpness      {:.4g}, largest eigenvalue of the Hessian", s.eigenvalue);
  line(out, "               {} products by power iteration, the last changed it by {:.2g} %{}",
       s.products, 100 * s.change,
       s.settled
           ? ""
           : "; not settled: --products makes more, a shorter --difference meets fewer bends");
  line(out, "loss           {:.4g}, with a gradient of length {:.4g}", s.loss, s.gradient_norm);
  if (!a.stable_rate(0)) {
    line(out, "{}",
         s.settled ? "\nThe loss is nowhere convex here, so that curvature bounds no rate."
                   : "\nNo positive curvature was found yet, which would bound the rate.");
    return out;
  }
  line(out, "\nlargest stable rate\n  plain descent        {:.4g}", *a.stable_rate(0));
  if (a.momentum > 0)
    line(out, "  momentum {:<11} {:.4g}", a.momentum, *a.stable_rate_of_momentum());
  for (const double delay : kDelays)
    line(out, "  gradients {:>2} update{} old {:.4g}", delay, delay == 1 ? " " : "s",
         *a.stable_rate(delay));
  const double bound = a.momentum > 0 ? *a.stable_rate_of_momentum() : *a.stable_rate(0);
  if (a.optimizer == "sgd" || a.optimizer == "momentum")
    line(out, "\nThe rate of {:g} is {:.3g} times the largest stable one{}", a.rate, a.rate / bound,
         a.rate > bound ? ": descent leaves this place." : ".");
  else
    line(out,
         "\nThese bounds are those of plain descent: {} scales each coordinate by itself and has "
         "others.",
         a.optimizer);
  if (a.rate > 0 && a.rate <= *a.stable_rate(0))
    line(out, "A rate that grows in proportion to the batch reaches {:.4g} at {:.0f} samples.",
         *a.stable_rate(0), *a.largest_batch());
  return out;
}

std::string sharpness_document(const SharpnessAnswer& answer) {
  return write_json(sharpness_fields().write(answer));
}

Json sharpness_schema() { return sharpness_fields().schema(); }

Drawing sharpness_picture(const SharpnessAnswer& answer) {
  CurveModel model;
  model.title = "Loss of " + answer.model + " along two lines through its weights";
  model.x_label = "distance from the weights";
  model.x = answer.slice.offsets;
  for (const double offset : model.x) model.x_names.push_back(fmt::format("{:.2g}", offset));
  model.lines = {{"sharpest direction", Ink::Backward, answer.slice.sharpest},
                 {"random direction", Ink::Forward, answer.slice.random}};
  model.now = 0;
  Drawing drawing({900, 420});
  draw_curve(drawing, whole(drawing.size), model);
  return drawing;
}

}  // namespace trainyard
