#include "app/cli/text/runs/batch_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/documents/result_json.h"

namespace trainyard {
namespace {

// Right of the last word of a row nothing is written.
void trimmed_line(Out& out, std::string row) {
  row.resize(row.find_last_not_of(' ') + 1);
  line(out, "{}", row);
}

void write_intensity(Out& out, const IntensityCurve& curve) {
  line(out, "{}", curve.name);
  trimmed_line(out, fmt::format("{:>10} {:>12} {:>18} {:>18} {:>10}", curve.unit, "FLOP/byte",
                                "roofline, formula", curve.measured ? "measured" : "",
                                curve.measured ? "time" : ""));
  for (const BatchPoint& p : curve.points)
    trimmed_line(
        out, fmt::format("{:>10.6g} {:>12.4g} {:>18} {:>18} {:>10}", p.batch, p.intensity(),
                         readable(FlopsPerSecond{p.flops / p.roofline()}),
                         p.measured ? readable(FlopsPerSecond{p.flops / p.measured->value}) : "",
                         p.measured ? readable(seconds(p.measured->value)) : ""));
  line(out, "");
}

Fields<Ridge> ridge_fields() {
  return {{"flops_per_second", &Ridge::flops_per_second, number()},
          {"bytes_per_second", &Ridge::bytes_per_second, number()},
          {"intensity", &Ridge::intensity, number(), "FLOP per byte at which the two meet"},
          {"batch", &Ridge::batch, number(), "of that intensity; absent where there is none"}};
}

Fields<IntensityCurve> curve_fields() {
  const Fields<BatchPoint> point = {
      {"batch", &BatchPoint::batch, number()},
      {"flops", &BatchPoint::flops, number()},
      {"bytes", &BatchPoint::bytes, number()},
      {"intensity", &BatchPoint::intensity, number(), "FLOP per byte, by formula"},
      {"roofline_seconds", &BatchPoint::roofline, number(), "by formula"},
      {"seconds", &BatchPoint::measured, band<double>(number()), "measured on this machine"}};
  return {{"name", &IntensityCurve::name},
          {"unit", &IntensityCurve::unit, "what a batch is counted in"},
          {"points", &IntensityCurve::points, list_of(object(point))},
          {"predicted", &IntensityCurve::predicted, object(ridge_fields()), "by formula"},
          {"measured", &IntensityCurve::measured, object(ridge_fields()),
           "from the times of the points"}};
}

struct Critical {
  const PlanCritical* plan;
  const CriticalBatch* found;
};

Fields<Critical> critical_fields() {
  const auto of = [](auto member) { return in(&Critical::found, member); };
  return {{"microbatches", of(&CriticalBatch::microbatches), number(), "of one replica"},
          {"samples_per_device",
           [](const Critical& c) { return c.plan->per_device(c.found->microbatches); }, number()},
          {"global_batch", [](const Critical& c) { return c.plan->global(c.found->microbatches); },
           number()},
          {"at_once", of(&CriticalBatch::at_once),
           "whether the fewest microbatches of a step attain the share already"},
          {"fixed_seconds", of(&CriticalBatch::fixed), number(), "once a step"},
          {"microbatch_seconds", of(&CriticalBatch::each), number(),
           "added by each further microbatch"}};
}

Fields<PlanCritical> plan_critical_fields() {
  const auto of = [](CriticalBatch PlanCritical::* found) {
    return [found](const PlanCritical& c) { return Critical{&c, &(c.*found)}; };
  };
  const Form<Critical> form = object(critical_fields());
  return {{"share", [](const PlanCritical&) { return kCriticalShare; }, number(),
           "of the peak throughput, at the critical batch"},
          {"micro_batch", &PlanCritical::micro_batch, whole(1)},
          {"replicas", &PlanCritical::replicas, whole(1)},
          {"devices", &PlanCritical::devices, whole(1)},
          {"predicted", of(&PlanCritical::predicted), form, "by the closed form"},
          {"simulated", of(&PlanCritical::simulated), form},
          {"own_microbatches", &PlanCritical::own, whole(1)},
          {"own_share", &PlanCritical::own_share, number(),
           "of the peak throughput, that the plan's own batch attains; simulated"}};
}

Fields<StableBatch> stable_batch_fields() {
  return {{"sharpness", &StableBatch::sharpness, number(), "largest eigenvalue of the Hessian"},
          {"batch", &StableBatch::batch, whole(1)},
          {"rate", &StableBatch::rate, number(), "of the training at this batch"},
          {"stable_rate", &StableBatch::stable_rate, "the largest"},
          {"largest_batch", [](const StableBatch& s) { return s.largest(); },
           "samples up to which a rate that grows in proportion to the batch is stable"},
          {"measured", &StableBatch::measured, "at which weights, on which data"}};
}

Fields<BatchStudy> batch_fields() {
  return document_fields<BatchStudy>(
      "trainyard/batch",
      {{"what", &BatchStudy::what},
       {"device", &BatchStudy::device},
       {"curves", &BatchStudy::curves, list_of(object(curve_fields()))},
       {"critical", &BatchStudy::critical, object(plan_critical_fields()), "of a plan"},
       {"stable", &BatchStudy::stable, object(stable_batch_fields()),
        "of a plan whose sharpness was measured"},
       {"sentences", batch_sentences}});
}

}  // namespace

std::string batch_text(const BatchStudy& study) {
  Out out;
  line(out, "{}\n", study.what);
  for (const IntensityCurve& curve : study.curves) write_intensity(out, curve);
  for (const std::string& sentence : batch_sentences(study)) line(out, "{}", sentence);
  return out;
}

Json batch_schema() { return batch_fields().schema(); }

std::string batch_document(const BatchStudy& study) {
  return write_json(batch_fields().write(study));
}

}  // namespace trainyard
