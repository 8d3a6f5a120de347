// Some methods work on what each data-parallel replica has in full: its tensors, its gradient, its
// optimizer's state on its own device.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/methods/layers/body.h"
#include "core/plan/plan.h"

namespace trainyard {

/// WholeReplicas has the words of a method as parts of the sentences that refuse a plan.
struct WholeReplicas {
  std::string_view word;     // the method, as the plan chose it: "dgc"
  std::string_view tensors;  // "selects the largest elements of whole tensors of each replica"
  std::string_view instead;  // after the degree: "; reduce=mean goes with them"
  std::string_view state;    // "adds up what a replica has not sent of its whole gradient"
  std::string_view device;   // "keeps what it has not sent on the device"
  std::string_view host;     // of offloading: "has the host keep that"
  std::string_view divided = "leaves each a part of one";  // of ZeRO
};

/// Returns how many trained tensors a replica has of a layer.
std::int64_t trained_tensors(const Body&, const Model&, const Layout&);

/// Adds errors at that place where tensor, context or expert ranks have parts of a replica, ZeRO
/// divides its state, or the host has its optimizer. The plan must be complete.
void check_whole_replicas(const Plan&, const WholeReplicas&, const Place&, Diagnostics& found);

}  // namespace trainyard
