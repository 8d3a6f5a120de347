#include "app/cli/text/scaling_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

constexpr const char* kScalingRow =
    "{} {:>8} {:>8} {:>10} {:>20} {:>10} {:>6} {:>10} {:>7} {:>9} {:>10}  {}";

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string money_words(const ScalingStudy& study, const Result& result) {
  const std::optional<Banded<double>> money = scaling_money(study, result);
  if (!money) return "-";
  return money->value < 99.95 ? fmt::format("{:.3g}", money->value)
                              : fmt::format("{:.0f}", money->value);
}

void write_point(Out& out, const ScalingStudy& study, const ScalingPoint& point) {
  const char* mark = point.devices == study.own ? "*" : " ";
  if (!point.result) {
    line(out, "{} {:>8} {:>8} not legal: {}", mark, point.devices,
         point.global_batch > 0 ? std::to_string(point.global_batch) : "-", point.why_not);
    return;
  }
  const Result& r = *point.result;
  std::string words =
      study.searched ? degree_words(r.plan) : fmt::format("dp={}", r.plan.mesh.dp.value_or(1));
  if (!point.fits()) words += "; " + r.verdict.sentence;
  const double per_second = rate(r).value;
  line(out, kScalingRow, mark, point.devices, point.global_batch, readable_step(r.step.value),
       fmt::format("{} to {}", readable(r.step.low), readable(r.step.high)),
       readable_rate(per_second), readable_share(r.mfu),
       point.efficiency ? readable_share(*point.efficiency) : "-",
       point.added ? whole_percent(point.added->value) : "-", money_words(study, r),
       readable(r.verdict.margin), words);
}

void write_curve(Out& out, const ScalingStudy& study, const ScalingCurve& curve) {
  line(out, kScalingRow, " ", "devices", "batch", "step", "band",
       study.counts_tokens ? "tokens/s" : "samples/s", "MFU", "efficiency", "added",
       study.counts_tokens ? "$/1e9 tok" : "$/1e6 sam", "spare", "plan");
  for (const ScalingPoint& point : curve.points) write_point(out, study, point);
  line(out, "\n{}", pays_sentence(curve));
  if (const std::string words = cheapest_sentence(study, curve); !words.empty())
    line(out, "{}", words);
}

// The batch of each device under the weak law, from the first point that has one.
std::string batch_of_a_device(const ScalingCurve& weak) {
  for (const ScalingPoint& point : weak.points)
    if (point.global_batch > 0)
      return fmt::format(
          "{:.4g}", static_cast<double>(point.global_batch) / static_cast<double>(point.devices));
  return "less than a sample";
}

Json band_json(double value, double low, double high) {
  Json json = Json::object();
  json.set("value", value);
  json.set("low", low);
  json.set("high", high);
  return json;
}
Json band_json(const Banded<double>& b) { return band_json(b.value, b.low, b.high); }
Json band_json(const Banded<Duration>& b) {
  return band_json(to_seconds(b.value), to_seconds(b.low), to_seconds(b.high));
}

Json point_json(const ScalingStudy& study, const ScalingPoint& point) {
  Json json = Json::object();
  json.set("devices", point.devices);
  json.set("legal", point.result.has_value());
  json.set("fits", point.fits());
  if (point.global_batch > 0) json.set("global_batch", point.global_batch);
  if (!point.why_not.empty()) json.set("why_not", point.why_not);
  if (!point.result) return json;
  const Result& r = *point.result;
  json.set("degrees", degree_words(r.plan));
  json.set("step_seconds", band_json(r.step));
  json.set(study.counts_tokens ? "tokens_per_second" : "samples_per_second", band_json(rate(r)));
  json.set("mfu", band_json(utilisation(r)));
  if (const auto money = scaling_money(study, r)) json.set("money", band_json(*money));
  json.set("margin_bytes", r.verdict.margin.value);
  if (point.efficiency) json.set("efficiency", *point.efficiency);
  if (point.added) json.set("added", band_json(*point.added));
  return json;
}

Json curve_json(const ScalingStudy& study, const ScalingCurve& curve) {
  Json json = Json::object(), points = Json::list();
  for (const ScalingPoint& point : curve.points) points.push(point_json(study, point));
  json.set("points", std::move(points));
  if (curve.pays) json.set("pays_up_to", curve.points[*curve.pays].devices);
  if (curve.stops) json.set("stops_paying_at", curve.points[*curve.stops].devices);
  if (curve.cheapest) json.set("cheapest_at", curve.points[*curve.cheapest].devices);
  json.set("sentence", pays_sentence(curve));
  if (const std::string words = cheapest_sentence(study, curve); !words.empty())
    json.set("cheapest", words);
  return json;
}

}  // namespace

std::string scaling_text(const ScalingStudy& study) {
  Out out;
  line(out,
       "{} on {}, by the closed form; * is the scenario's own number of devices\n"
       "{}; efficiency: throughput per device against the fewest devices on which it fits\n"
       "added: what the added devices bring, as a share of their throughput; below {:.0f} % they "
       "stop paying\n",
       study.model, study.device,
       study.searched ? "the degrees are searched anew for each number of devices"
                      : "the degrees stay as in the plan, and only dp differs",
       100 * kScalingPays);
  line(out, "strong scaling: a global batch of {} samples on all numbers of devices",
       study.strong.points.front().global_batch);
  write_curve(out, study, study.strong);
  line(out, "\nweak scaling: {} samples per device", batch_of_a_device(study.weak));
  write_curve(out, study, study.weak);
  return out;
}

std::string scaling_document(const ScalingStudy& study) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/scaling")));
  json.set("model", study.model);
  json.set("device", study.device);
  json.set("own_devices", study.own);
  json.set("degrees", study.searched ? "searched" : "fixed");
  json.set("money_per", study.per());
  json.set("strong", curve_json(study, study.strong));
  json.set("weak", curve_json(study, study.weak));
  return write_json(json);
}

}  // namespace trainyard
