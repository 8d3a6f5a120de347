#include "app/cli/text/clusters/scaling_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/io/documents/result_json.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

constexpr const char* kScalingRow =
    "{} {:>8} {:>8} {:>10} {:>20} {:>10} {:>6} {:>10} {:>7} {:>9} {:>10}  {}";

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string money_words(const Result& result) {
  const std::optional<Banded<double>> money = money_for_work(result);
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
       point.added ? whole_percent(point.added->value) : "-", money_words(r),
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

struct StudiedPoint {
  const ScalingStudy* study;
  const ScalingPoint* point;
};

struct StudiedCurve {
  const ScalingStudy* study;
  const ScalingCurve* curve;
};

Fields<StudiedPoint> scaling_point_fields() {
  const Form<Banded<double>> range = band<double>(number());
  const auto of = [](auto member) { return in(&StudiedPoint::point, member); };
  // Present where a plan is legal.
  const auto solved = [](auto f) {
    return [f](const StudiedPoint& p) {
      return p.point->result ? std::optional(f(*p.study, *p.point->result)) : std::nullopt;
    };
  };
  const auto rate_of = [](bool tokens) {
    return [tokens](const StudiedPoint& p) {
      return p.point->result && p.study->counts_tokens == tokens
                 ? std::optional(rate(*p.point->result))
                 : std::nullopt;
    };
  };
  const auto money = [](const StudiedPoint& p) {
    return p.point->result ? money_for_work(*p.point->result) : std::nullopt;
  };
  using Study = const ScalingStudy&;
  return {
      {"devices", of(&ScalingPoint::devices), whole(1)},
      {"legal", [](const StudiedPoint& p) { return p.point->result.has_value(); }},
      {"fits", of(&ScalingPoint::fits)},
      {"global_batch", of(&ScalingPoint::global_batch), whole(1), kWhereSet},
      {"why_not", of(&ScalingPoint::why_not), kWhereSet, "why it is not legal, or does not fit"},
      {"degrees", solved([](Study, const Result& r) { return degree_words(r.plan); }),
       "arguments of --set"},
      {"step_seconds", solved([](Study, const Result& r) { return r.step; }),
       band<Duration>(number()), "by the closed form"},
      {"tokens_per_second", rate_of(true), range, "on all devices"},
      {"samples_per_second", rate_of(false), range, "of a model without tokens"},
      {"mfu", solved([](Study, const Result& r) { return utilisation(r); }), range,
       "share of the peak"},
      {"money", money, range, "US dollars of money_per tokens (samples)"},
      {"margin_bytes", solved([](Study, const Result& r) { return r.verdict.margin; }),
       signed_whole(), "negative = over"},
      {"efficiency", of(&ScalingPoint::efficiency),
       "throughput per device over that of the fewest devices that fit"},
      {"added", of(&ScalingPoint::added), range,
       "what the devices bring that were added since the next smaller number that fits, as a share "
       "of their throughput"}};
}

std::vector<StudiedPoint> studied_points(const StudiedCurve& c) {
  std::vector<StudiedPoint> list;
  for (const ScalingPoint& point : c.curve->points) list.push_back({c.study, &point});
  return list;
}

Fields<StudiedCurve> scaling_curve_fields() {
  const auto devices_at = [](std::optional<std::size_t> ScalingCurve::* index) {
    return [index](const StudiedCurve& c) {
      const std::optional<std::size_t> at = c.curve->*index;
      return at ? std::optional(c.curve->points[*at].devices) : std::nullopt;
    };
  };
  return {{"points", studied_points, list_of(object(scaling_point_fields()))},
          {"pays_up_to", devices_at(&ScalingCurve::pays), whole(1), "devices"},
          {"stops_paying_at", devices_at(&ScalingCurve::stops), whole(1), "devices"},
          {"cheapest_at", devices_at(&ScalingCurve::cheapest), whole(1), "devices"},
          {"sentence", [](const StudiedCurve& c) { return pays_sentence(*c.curve); },
           "up to how many devices it pays"},
          {"cheapest", [](const StudiedCurve& c) { return cheapest_sentence(*c.study, *c.curve); },
           kWhereSet, "where a token (a sample) costs least"}};
}

Fields<ScalingStudy> scaling_fields() {
  const auto curve = [](ScalingCurve ScalingStudy::* law) {
    return [law](const ScalingStudy& study) { return StudiedCurve{&study, &(study.*law)}; };
  };
  const Form<StudiedCurve> form = object(scaling_curve_fields());
  return document_fields<ScalingStudy>(
      "trainyard/scaling",
      {{"model", &ScalingStudy::model},
       {"device", &ScalingStudy::device},
       {"own_devices", &ScalingStudy::own, whole(1), "of the scenario's cluster"},
       {"degrees", [](const ScalingStudy& study) { return study.searched ? "searched" : "fixed"; },
        one_of({"fixed", "searched"})},
       {"money_per", &ScalingStudy::per, "tokens, or samples of a model without tokens"},
       {"strong", curve(&ScalingStudy::strong), form, "the global batch stays"},
       {"weak", curve(&ScalingStudy::weak), form, "the batch of each device stays"}});
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

Json scaling_schema() { return scaling_fields().schema(); }

std::string scaling_document(const ScalingStudy& study) {
  return write_json(scaling_fields().write(study));
}

}  // namespace trainyard
