// A Request is a scenario as words, before any of it is opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The words of --model, --cluster, --plan and --set.
struct Request {
  std::string model, cluster, plan;   // plan may be empty
  std::vector<std::string> settings;  // "tp=8"
  // A calibration as open_cost_model() reads it. Decisions made while a plan is opened use its
  // prices; empty = the workbench's own.
  std::string calibration = {};
  // US dollars of a device-hour, in place of the cluster's own.
  std::optional<double> price = {};
};

}  // namespace trainyard
