#include "app/workspace/scenario/prices.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/error.h"
#include "core/cost/kernels/variant_ranking.h"
#include "core/cost/physical.h"

namespace trainyard {

std::unique_ptr<CostModel> cost_model(const Scenario& scenario) {
  return physical_cost_model(scenario);
}

namespace {

std::unique_ptr<CostModel> own_cost_model(const ParameterProfile& profile,
                                          const Scenario& scenario) {
  const std::string& device = scenario.cluster.device.id;
  std::unique_ptr<CostModel> cost = physical_cost_model(scenario, profile.parameters);
  std::string not_measured = not_measured_words(profile, device);
  const std::optional<StepFactor> steps = profile_for(profile, device).steps;
  if (!steps && not_measured.empty()) return cost;
  return scaled_cost_model(std::move(cost), steps.value_or(StepFactor{}), std::move(not_measured));
}

}  // namespace

std::unique_ptr<CostModel> open_cost_model(const std::string& word, Scenario& scenario) {
  return priced_by(open_measured_prices(word), scenario);
}

std::function<std::unique_ptr<CostModel>(const Scenario&)> prices_of_plans(
    const std::string& word) {
  if (word.empty()) return cost_model;
  return [measured = open_measured_prices(word)](const Scenario& s) {
    Scenario own = s;
    return priced_by(measured, own);
  };
}

std::shared_ptr<const VariantChooser> open_variants(const std::string& word) {
  if (word.empty()) return nullptr;
  const MeasuredPrices prices = open_measured_prices(word);
  const auto* calibration = std::get_if<Calibration>(&prices);
  if (calibration == nullptr || calibration->variants.empty()) return nullptr;
  return rank_variants(calibration->variants);
}

std::string with_other_shapes(const std::string& word, OtherShapes by) {
  MeasuredPrices prices = open_measured_prices(word);
  auto* calibration = std::get_if<Calibration>(&prices);
  if (calibration == nullptr)
    throw Error(Error::Kind::InvalidInput,
                "expected a trainyard/calibration, which has measured kernels, found a "
                "trainyard/profile, which has parameters of the roofline",
                {"--calibration"});
  calibration->other_shapes = by;
  return measured_prices_word(prices);
}

std::string priced_word(std::string_view cost, const std::string& calibration) {
  if (cost == "roofline") return "";
  if (calibration.empty())
    refuse_flag("cost",
                fmt::format("expected --calibration FILE beside {}, whose kernels it is "
                            "made of; \"trainyard calibrate --out machine.json\" writes one",
                            cost));
  return with_other_shapes(calibration,
                           cost == "learned" ? OtherShapes::Learned : OtherShapes::Interpolated);
}

std::unique_ptr<CostModel> priced_by(MeasuredPrices prices, Scenario& scenario) {
  if (const auto* profile = std::get_if<ParameterProfile>(&prices))
    return own_cost_model(*profile, scenario);
  auto& calibration = std::get<Calibration>(prices);
  calibrate_cluster(scenario.cluster, calibration);
  if (calibration.device.empty()) return calibrated_cost_model(std::move(calibration));
  return calibrated_cost_model(std::move(calibration), physical_cost_model(scenario),
                               scenario.cluster.device);
}

void calibrate_cluster(Cluster& cluster, const Calibration& calibration) {
  if (!calibration.device.empty()) {
    if (cluster.device.id == calibration.device) return;
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a cluster of {}, whose recorded run it is, found {}",
                            calibration.device, cluster.name),
                {"--calibration"});
  }
  if (cluster.device.id != "cpu")
    throw Error(Error::Kind::InvalidInput,
                fmt::format("a calibration is of this machine's own devices, as cpu:{}, and the "
                            "cluster is {}",
                            cluster.count, cluster.name),
                {"--calibration"});
  for (Peak& peak : cluster.device.peaks)
    for (const KernelTiming& timing : calibration.kernels) {
      const double reached = timing.work.flops.value / to_seconds(timing.time);
      if (timing.work.math == peak.type && reached > peak.rate.value.value)
        peak.rate = {{reached}, "measured: " + calibration.machine};
    }
}

}  // namespace trainyard
