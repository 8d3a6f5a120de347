// Rates at which devices stop a training, by component, as operators of large clusters have
// published them. A synchronous training stops when any of its devices does, so rates add up over
// devices and components, and the mean time between failures of a job is the inverse of their sum.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

enum class Component : std::uint8_t {
  Gpu,          // the device but its memory: faults, SRAM, sensors, silent data corruption
  Hbm,          // the device's memory
  Host,         // processor, memory, SSD, power supply and chassis of a node
  Nic,          // network cards
  Network,      // switches, links and cables
  Software,     // bugs, dependencies and timeouts without a known cause
  Maintenance,  // unplanned maintenance of a host
  Node,         // anything in a node, where the source does not tell components apart
};
std::string_view to_string(Component);  // "HBM"
/// Returns whether the node must leave the job after such a stop, so that a spare takes its place;
/// after any other the same nodes go on.
bool replaces_node(Component);

struct FailureCount {
  Component component = Component::Node;
  double stops = 0;
};

/// A published count of unexpected stops: so many in so many device-hours.
struct FailureRecord {
  std::string_view name;   // "llama-3"
  std::string_view title;  // "Llama 3 405B, 16 384 H100 over 54 days"
  double device_hours = 0;
  std::span<const FailureCount> counts;
  std::string_view source;

  double stops() const;
  /// Stops of one device in an hour.
  double rate() const { return stops() / device_hours; }
  /// The part of them after which a node is replaced, in [0, 1].
  double replaced_share() const;
};

/// All records; the first is the one that is taken where nobody names one.
std::span<const FailureRecord> failure_records();
/// Throws Error{InvalidInput} with the nearest name.
const FailureRecord& failure_record(std::string_view name);

/// Seconds between two failures of a job on so many devices; infinite where nothing fails.
double mean_time_between_failures(double stops_per_device_hour, std::int64_t devices);

}  // namespace trainyard
