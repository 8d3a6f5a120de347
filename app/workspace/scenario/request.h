// A Request is a scenario as words, before anything of it is opened.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// A scenario as words: what --model, --cluster, --plan and --set say.
struct Request {
  std::string model, cluster, plan;   // plan may be empty
  std::vector<std::string> settings;  // "tp=8"
  std::string calibration = {};  // as open_cost_model() reads it: by it prices choose while a plan
                                 // is opened; empty = the workbench's own
};

}  // namespace trainyard
