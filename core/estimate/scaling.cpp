#include "core/estimate/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/cluster/with_count.h"
#include "core/methods/settings/settings.h"
#include "core/plan/mesh.h"

namespace trainyard {
namespace {

// Returns the global batch under the weak law. Throws Error{InvalidInput} where it is no whole
// number of samples, or none that fits into 64 bits.
std::int64_t weak_batch(std::int64_t global, std::int64_t own, std::int64_t devices) {
  const std::int64_t common = std::gcd(own, devices), parts = own / common,
                     times = devices / common;
  if (global % parts != 0)
    refuse("devices",
           fmt::format("a batch of {} samples on {} devices is no whole number of samples on {}",
                       global, own, devices));
  if (global / parts > std::numeric_limits<std::int64_t>::max() / times)
    refuse("devices", fmt::format("the global batch on {} devices is too large", devices));
  return global / parts * times;
}

ScalingPoint scaling_point(const Scenario& base, ScalingLaw law, std::int64_t devices,
                           const ResultOf& result_of) {
  ScalingPoint point;
  point.devices = devices;
  try {
    Scenario s = base;
    if (law == ScalingLaw::Weak)
      s.plan.batch.global = weak_batch(base.plan.batch.global, base.cluster.count, devices);
    point.global_batch = s.plan.batch.global;
    s.cluster = with_count(base.cluster, devices);
    point.result = result_of(s);
    if (!point.fits()) point.why_not = point.result->verdict.sentence;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput && error.kind() != Error::Kind::Unsupported)
      throw;
    point.why_not = error.what();
  }
  return point;
}

Banded<double> added_share(const ScalingPoint& from, const ScalingPoint& to) {
  const Banded<double> before = rate(*from.result), after = rate(*to.result);
  const double more = static_cast<double>(to.devices) / static_cast<double>(from.devices) - 1;
  const auto share = [&](double a, double b) { return a > 0 ? (b / a - 1) / more : 0; };
  return {share(before.value, after.value), share(before.high, after.low),
          share(before.low, after.high), "the bands of both steps, as if independent"};
}

// The same for all counts, so it is what is compared; prices are not part of it.
Banded<double> device_seconds(const ScalingPoint& point) {
  const Banded<double> each = rate_per_device(*point.result);
  return {1 / each.value, 1 / each.high, 1 / each.low, each.basis};
}

bool comparable(const ScalingPoint& point) { return point.fits() && rate(*point.result).value > 0; }

void judge(ScalingCurve& curve) {
  std::optional<std::size_t> first, last;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    ScalingPoint& point = curve.points[i];
    if (!comparable(point)) continue;
    if (!first) first = curve.pays = i;
    point.efficiency =
        rate_per_device(*point.result).value / rate_per_device(*curve.points[*first].result).value;
    if (last) {
      point.added = added_share(curve.points[*last], point);
      if (!curve.stops && point.added->value < kScalingPays) curve.stops = i;
      if (!curve.stops) curve.pays = i;
    }
    if (point.result->money &&
        (!curve.cheapest ||
         device_seconds(point).value < device_seconds(curve.points[*curve.cheapest]).value))
      curve.cheapest = i;
    last = i;
  }
}

bool one_replica_fits(const Mesh& degrees, std::int64_t devices) {
  const std::int64_t replica = std::int64_t{degrees.tp} * degrees.pp * degrees.cp;
  if (devices % replica != 0) return false;
  Mesh mesh = degrees;
  mesh.dp = static_cast<int>(devices / replica);
  return expert_pool(mesh) % mesh.ep == 0;
}

std::string devices_words(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "device" : "devices");
}

std::string percent(double share) { return fmt::format("{:.0f}", 100 * share); }

std::string name_of(ScalingLaw law) { return law == ScalingLaw::Strong ? "Strong" : "Weak"; }

std::string dollars(double value) {
  return value < 99.95 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::string_view to_string(ScalingLaw law) { return law == ScalingLaw::Strong ? "strong" : "weak"; }

std::vector<std::int64_t> scaling_counts(const Scenario& scenario, bool searched) {
  const std::int64_t own = scenario.cluster.count;
  std::vector<std::int64_t> counts = {own};
  while (counts.front() % 2 == 0 &&
         (searched || one_replica_fits(scenario.plan.mesh, counts.front() / 2)))
    counts.insert(counts.begin(), counts.front() / 2);
  for (std::int64_t times = 2; times <= kMostScaling && own * times <= kMostDevices; times *= 2)
    counts.push_back(own * times);
  return counts;
}

ScalingStudy scaling(const Scenario& scenario, const ScalingOptions& options,
                     const ResultOf& result_of) {
  Scenario base = scenario;
  base.plan.batch = complete(scenario).batch;
  base.plan.mesh.dp.reset();
  ScalingStudy study;
  study.model = scenario.model.name;
  study.device = scenario.cluster.device.name;
  study.own = scenario.cluster.count;
  study.searched = options.searched;
  study.counts_tokens = scenario.model.tokens;
  study.weak.law = ScalingLaw::Weak;
  for (const std::int64_t devices :
       options.devices.empty() ? scaling_counts(scenario, options.searched) : options.devices) {
    study.strong.points.push_back(scaling_point(base, ScalingLaw::Strong, devices, result_of));
    study.weak.points.push_back(devices == study.own
                                    ? study.strong.points.back()
                                    : scaling_point(base, ScalingLaw::Weak, devices, result_of));
  }
  judge(study.strong);
  judge(study.weak);
  return study;
}

std::string degree_words(const Plan& plan) {
  std::string words =
      fmt::format("tp={} pp={} dp={}", plan.mesh.tp, plan.mesh.pp, plan.mesh.dp.value_or(1));
  if (plan.mesh.cp > 1) words += fmt::format(" cp={}", plan.mesh.cp);
  if (plan.mesh.ep > 1) words += fmt::format(" ep={}", plan.mesh.ep);
  if (plan.virtual_stages > 1) words += fmt::format(" virtual-stages={}", plan.virtual_stages);
  return words + fmt::format(" micro-batch={}", plan.batch.micro);
}

std::string pays_sentence(const ScalingCurve& curve) {
  const std::string name = name_of(curve.law);
  if (!curve.pays) return name + " scaling: the plan fits on none of these numbers of devices.";
  const ScalingPoint& pays = curve.points[*curve.pays];
  if (!curve.stops && !pays.added)
    return fmt::format("{} scaling: of these numbers of devices the plan fits on {} only.", name,
                       pays.devices);
  const ScalingPoint& decides = curve.stops ? curve.points[*curve.stops] : pays;
  const std::string share = fmt::format("{} % ({} to {})", percent(decides.added->value),
                                        percent(decides.added->low), percent(decides.added->high));
  std::string text =
      curve.stops
          ? fmt::format(
                "{} scaling pays up to {}: those added at {} bring only {} of their "
                "share of throughput, less than {} %",
                name, devices_words(pays.devices), decides.devices, share, percent(kScalingPays))
          : fmt::format(
                "{} scaling pays up to {}, the most of these on which the plan fits: "
                "those added last bring {} of their share of throughput",
                name, devices_words(pays.devices), share);
  const bool told =
      curve.stops ? decides.added->high < kScalingPays : decides.added->low >= kScalingPays;
  if (decides.added->low < 0 && decides.added->high > 0)
    text += "; the bands overlap, so that even whether they are faster cannot be told";
  else if (!told)
    text += fmt::format("; the bands allow both sides of {} %", percent(kScalingPays));
  return text + ".";
}

std::string cheapest_sentence(const ScalingStudy& study, const ScalingCurve& curve) {
  if (!curve.cheapest) return "";
  const ScalingPoint& best = curve.points[*curve.cheapest];
  const Banded<double> money = money_for_work(*best.result).value_or(Banded<double>{});
  std::string text = fmt::format(
      "Under {} scaling a {} costs least on {}: {} US dollars ({} to {}) for {}",
      to_string(curve.law), study.counts_tokens ? "token" : "sample", devices_words(best.devices),
      dollars(money.value), dollars(money.low), dollars(money.high),
      study.counts_tokens ? "1 billion tokens" : "1 million samples");
  std::string others;
  for (const ScalingPoint& point : curve.points)
    if (point.devices != best.devices && comparable(point) &&
        device_seconds(point).low < device_seconds(best).high)
      others += (others.empty() ? "" : ", ") + std::to_string(point.devices);
  if (!others.empty()) text += fmt::format("; within the bands it could be {} as well", others);
  return text + ".";
}

}  // namespace trainyard
