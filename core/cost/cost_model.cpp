#include "core/cost/cost_model.h"

#include <algorithm>

#include "core/base/saturating.h"
#include "core/cost/collectives/collective_time.h"
#include "core/cost/collectives/fabric.h"
#include "core/cost/links_left_out.h"
#include "core/cost/roofline.h"

namespace trainyard {
namespace {

double count(Bytes bytes) { return static_cast<double>(bytes.value); }

class RooflineCost final : public CostModel {
 public:
  std::string_view name() const override { return "roofline"; }

  std::vector<std::string> leaves_out() const override {
    return {
        "the time the host needs to prepare a layer's kernels (0.8 to 0.9 ms a layer in eager "
        "frameworks)",
        "whole tiles and waves of a product: shapes that fill the device unevenly run slower",
        "head widths that are no multiple of 8, which slow unfused attention several times",
        "the casts of 8-bit formats, and their scaling by block or row",
        "cache reuse between kernels, fusion that the graph does not show",
        "power caps and clock throttling",
        "compute and communication slowing each other down",
        "reduction in the switch (SHARP, NVLS)",
        std::string(kLeafOfNodeLeftOut),
        std::string(kUnevenMeshLeftOut),
    };
  }

  Duration compute(const Work& work, const Device& device) const override {
    if (nothing(work)) return Duration{0};
    const double busy = std::max(arithmetic_seconds(work, device, device.efficiency, kInnerLength),
                                 traffic_seconds(work, device, device.efficiency));
    return seconds(busy + to_seconds(device.launch.value));
  }

  Duration transfer(Bytes bytes, const Cluster& cluster, std::size_t level) const override {
    if (bytes.value <= 0) return Duration{0};
    const Level& link = cluster.levels[std::min(level, cluster.levels.size() - 1)];
    const Efficiency& e = cluster.device.efficiency;
    const double share = level == 0 ? e.scale_up.value : e.send.value;
    const double rate = link.bandwidth.value.value * pair_share(link) * share;
    return seconds(count(bytes) / rate +
                   to_seconds(link.latency.value + cluster.device.message_start.value));
  }

  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    return collective_time(kind, bytes, shape, cluster, link_shares(cluster.device.efficiency),
                           true);
  }

  double band() const override { return 0.24; }
  std::string_view band_basis() const override {
    return "90 % of 583 published step times lie within 24 % of these forms with starting values "
           "(2026-11)";
  }
};

Efficiency all_of_it() {
  const Sourced<double> all{1.0, "the datasheet figure itself"};
  return {all, all, all, all, all, all, all, all, all};
}

class Datasheet final : public CostModel {
 public:
  std::string_view name() const override { return "datasheet"; }

  std::vector<std::string> leaves_out() const override {
    return {"everything that keeps real kernels and links from their datasheet figures",
            "the start of kernels and messages, and the latency of links"};
  }

  Duration compute(const Work& work, const Device& device) const override {
    return seconds(
        std::max(arithmetic_seconds(work, device, all_, 0), traffic_seconds(work, device, all_)));
  }

  Duration transfer(Bytes bytes, const Cluster& cluster, std::size_t level) const override {
    const Level& link = cluster.levels[std::min(level, cluster.levels.size() - 1)];
    return seconds(count(bytes) / (link.bandwidth.value.value * pair_share(link)));
  }

  CollectiveTime collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                            const Cluster& cluster) const override {
    return collective_time(kind, bytes, shape, cluster, link_shares(all_), false);
  }

  double band() const override { return 0; }
  std::string_view band_basis() const override {
    return "a physical limit, not a prediction: runs are slower than it";
  }

 private:
  const Efficiency all_ = all_of_it();
};

}  // namespace

bool nothing(const Work& work) {
  return !(work.flops.value > 0) && work.read.value <= 0 && work.written.value <= 0;
}

Duration CostModel::phase(std::span<const WorkCount> works, std::span<const Duration> kernels, bool,
                          const Cluster&) const {
  Duration sum{};
  for (std::size_t i = 0; i < works.size(); ++i)
    sum = saturating_sum(sum, saturating_product(kernels[i], works[i].count));
  return sum;
}

PhaseLoad CostModel::load(std::span<const WorkCount> works, std::span<const Duration> kernels,
                          const Cluster&) const {
  PhaseLoad sum;
  for (std::size_t i = 0; i < works.size(); ++i)
    sum.device += to_seconds(kernels[i]) * static_cast<double>(works[i].count);
  return sum;
}

Duration CostModel::phase(const PhaseLoad& sum, bool, const Cluster&) const {
  return seconds(sum.device);
}

Duration CostModel::exposed(const PhaseLoad& sum) const { return seconds(sum.exposed); }

Duration CostModel::phase(std::span<const WorkCount> works, bool update,
                          const Cluster& cluster) const {
  std::vector<Duration> kernels;
  for (const WorkCount& w : works) kernels.push_back(compute(w.work, cluster.device));
  return phase(works, kernels, update, cluster);
}

std::unique_ptr<CostModel> roofline_cost_model() { return std::make_unique<RooflineCost>(); }
std::unique_ptr<CostModel> datasheet_cost_model() { return std::make_unique<Datasheet>(); }

}  // namespace trainyard
