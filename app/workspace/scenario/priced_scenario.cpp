#include "app/workspace/scenario/priced_scenario.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace trainyard {

std::string why_not_priced(const MeasuredPrices& prices, const Cluster& cluster) {
  if (const auto* profile = std::get_if<ParameterProfile>(&prices))
    return profile->steps ? not_measured_words(*profile, cluster.device.id) : "";
  const auto* calibration = std::get_if<Calibration>(&prices);
  const std::string& device = calibration->device;
  if (cluster.device.id == (device.empty() ? "cpu" : device)) return {};
  if (!device.empty())
    return fmt::format("it is of a recorded run on {}, and the cluster is {}", device,
                       cluster.name);
  return fmt::format("it is of this machine's own cores, as cpu:{}, and the cluster is {}",
                     cluster.count, cluster.name);
}

std::string calibration_for(const std::string& calibration, const std::string& cluster) {
  if (calibration.empty() || cluster.empty()) return {};
  const Cluster opened = open_named({"", cluster, "", {}}).cluster;
  return why_not_priced(open_measured_prices(calibration), opened).empty() ? calibration : "";
}

PricedScenario open_priced(const Request& request) {
  PricedScenario out;
  Request asked = request;
  std::optional<MeasuredPrices> prices;
  if (!request.calibration.empty() && !request.cluster.empty()) {
    prices = open_measured_prices(request.calibration);
    const Cluster cluster = open_named({"", request.cluster, "", {}}).cluster;
    out.why_not = why_not_priced(*prices, cluster);
    if (out.why_not.empty()) {
      out.by = provenance(*prices);
    } else {
      asked.calibration.clear();
      prices.reset();
    }
  }
  out.scenario = open(asked);
  if (prices) out.cost = priced_by(*std::move(prices), out.scenario);
  return out;
}

}  // namespace trainyard
