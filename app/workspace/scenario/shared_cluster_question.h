// The question about jobs that share a network, as both programs ask it: its figures as words, and
// those that the open plan answers.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/scenario/request.h"
#include "core/network/shared_cluster.h"

namespace trainyard {

/// A figure of the question. It is read from its words alone; whether figures go together,
/// shared_cluster() says.
struct SharedClusterField {
  const char* flag;   // of `trainyard network`, without dashes
  const char* title;  // of its field in the window
  const char* tip;    // empty: the title says all
  std::string (*write)(const SharedClusterQuestion&);
  /// Throws Error{InvalidInput} without a place that says which range was expected.
  void (*read)(SharedClusterQuestion&, const std::string& typed);
};
const std::vector<SharedClusterField>& shared_cluster_fields();

struct SharedClusterAsked {
  SharedClusterQuestion question;
  std::set<std::string_view> given = {};  // flags that read_field() has read
  // Unless they are given, the gradients of a job and the rate of links are those of this plan.
  std::optional<Request> plan = {};
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share that is done, in [0, 1]
};

/// Reads the figure of that field into the question, and notes that it is given.
void read_field(SharedClusterAsked&, const SharedClusterField&, const std::string& typed);

/// Opens the plan, if there is one, and asks shared_cluster(). Gradients are the bytes that a rank
/// of the plan's fullest stage adds up in a step; the rate is that of a device's links of the
/// cluster's outermost level. A job has no more trees than there are spines, unless they are given.
/// Throws Error{InvalidInput} where the plan has errors or trains no weights, and as
/// shared_cluster() does.
SharedClusterAnswer study_shared_cluster(const SharedClusterAsked&);
/// The command line that asks the same, such as "trainyard network --jobs 4".
std::string shared_cluster_command(const SharedClusterAsked&);

}  // namespace trainyard
