#include "core/reliability/failure_rates.h"

#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr double kHoursOfDay = 24, kSecondsOfHour = 3600;

// "Llama 3 herd of models", table 5, whose 18 rows add up to 419. GPU: 148 faulty GPUs, 19 of SRAM,
// 17 of the system processor, 6 silent data corruptions, 6 of thermal interface and sensors. Host:
// 3 SSDs, 3 power supplies, 2 each of chassis, expansion boards, processors and memories. Software:
// 54 bugs, 2 dependencies and 7 timeouts of the NCCL watchdog.
constexpr FailureCount kLlama3[] = {{Component::Gpu, 148 + 19 + 17 + 6 + 6},
                                    {Component::Hbm, 72},
                                    {Component::Host, 14},
                                    {Component::Nic, 7},
                                    {Component::Network, 35},
                                    {Component::Software, 63},
                                    {Component::Maintenance, 32}};
constexpr FailureCount kRsc1[] = {{Component::Node, 6.50}};
constexpr FailureCount kRsc2[] = {{Component::Node, 2.34}};
constexpr FailureCount kOpt[] = {{Component::Node, 35}};
constexpr FailureCount kBloom[] = {{Component::Gpu, 1.5}};

constexpr FailureRecord kRecords[] = {
    {"llama-3", "Llama 3 405B, 16384 H100 over 54 days", 16384 * 54 * kHoursOfDay, kLlama3,
     "The Llama 3 Herd of Models (2024), table 5: 419 unexpected interruptions in 54 days"},
    {"rsc-1", "Meta's research cluster RSC-1, 16000 A100 over 11 months", 8 * 1000 * kHoursOfDay,
     kRsc1,
     "Kokolis et al., Revisiting Reliability in Large-Scale ML Research Clusters (HPCA 2025): 6.50 "
     "failures in 1000 node-days of 8 devices"},
    {"rsc-2", "Meta's research cluster RSC-2, 8000 A100 over 11 months", 8 * 1000 * kHoursOfDay,
     kRsc2,
     "Kokolis et al., Revisiting Reliability in Large-Scale ML Research Clusters (HPCA 2025): 2.34 "
     "failures in 1000 node-days of 8 devices"},
    {"opt-175b", "OPT-175B, 992 A100 over two months", 992 * 60 * kHoursOfDay, kOpt,
     "Zhang et al., OPT: Open Pre-trained Transformer Language Models (2022): at least 35 manual "
     "restarts for hardware failures in 2 months, counted as 60 days"},
    {"bloom", "BLOOM, 384 A100", 384 * 7 * kHoursOfDay, kBloom,
     "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model (2022): 1 to 2 GPU failures "
     "a week, counted as 1.5"},
};

}  // namespace

std::string_view to_string(Component component) {
  switch (component) {
    case Component::Gpu:
      return "GPU";
    case Component::Hbm:
      return "HBM";
    case Component::Host:
      return "host";
    case Component::Nic:
      return "NIC";
    case Component::Network:
      return "switch or link";
    case Component::Software:
      return "software";
    case Component::Maintenance:
      return "maintenance";
    case Component::Node:
      break;
  }
  return "node";
}

bool replaces_node(Component component) {
  return component != Component::Network && component != Component::Software;
}

double FailureRecord::stops() const {
  double sum = 0;
  for (const FailureCount& one : counts) sum += one.stops;
  return sum;
}

double FailureRecord::replaced_share() const {
  double sum = 0;
  for (const FailureCount& one : counts) sum += replaces_node(one.component) ? one.stops : 0;
  return sum / stops();
}

std::span<const FailureRecord> failure_records() { return kRecords; }

const FailureRecord& failure_record(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FailureRecord& one : kRecords) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  throw Error(Error::Kind::InvalidInput, "no record of failures is called \"" +
                                             std::string(name.substr(0, 80)) + "\"" +
                                             did_you_mean(name, names));
}

double mean_time_between_failures(double stops_per_device_hour, std::int64_t devices) {
  const double rate = stops_per_device_hour * static_cast<double>(devices) / kSecondsOfHour;
  return rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity();
}

}  // namespace trainyard
