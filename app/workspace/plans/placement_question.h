// Placement of many jobs as both programs ask for it: of stated kinds of jobs, or of plans.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/workspace/scenario/request.h"
#include "planners/placement/placement_study.h"

namespace trainyard {

inline constexpr int kMostPlacedNodes = 64, kMostNodeDevices = 1024, kMostTraceJobs = 2000,
                     kMostTraces = 1000;
inline constexpr double kMostNodeGigabytes = 1e6, kLeastLoad = 0.01, kMostLoad = 10,
                        kMostPatienceMinutes = 1e6, kLeastJobHours = 0.001, kMostJobHours = 10'000;
inline constexpr std::int64_t kMostTraceSeed = 1'000'000'000;

/// Begins as it is asked for where nobody says anything.
struct PlacementAsked {
  PlacementAsked();

  PlacementQuestion question;     // its kinds are filled by the study
  std::vector<std::string> jobs;  // kinds as placed_job() reads them; none = stated_kinds()
  double hours = 2;               // median duration of such a job
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share that is done, in [0, 1]
};

double gigabytes_of(const PlacedNodes&);
void set_gigabytes(PlacedNodes&, double);

/// Reads "MODEL CLUSTER KEY=VALUE...". Throws Error{InvalidInput} where model or cluster is
/// missing; neither is opened.
Request placed_job(const std::string& words);
/// Simulates the jobs that are plans, and runs the study. Throws as open(), planned_job() and
/// placement_study() do.
PlacementStudy study_placement(const PlacementAsked&);
/// The command line that asks the same, such as "trainyard place --nodes 4".
std::string placement_command(const PlacementAsked&);

}  // namespace trainyard
