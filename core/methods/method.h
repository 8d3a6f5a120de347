// A Method is one idea from one paper: what it is, when it is legal, what it gains and costs, and
// the one place where it changes how a model is trained.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/layers/layout.h"
#include "core/plan/params.h"
#include "core/plan/plan.h"
#include "core/program/order.h"

namespace trainyard {

/// Groups the catalogue. A plan has at most one method of the Schedule and Precision axes.
enum class MethodAxis : std::uint8_t {
  Schedule,
  Sharding,
  Reduction,
  Memory,
  Precision,
  Communication
};
std::string_view to_string(MethodAxis);

struct Paper {
  std::string_view title, authors, venue;
  int year = 0;
};

/// The same words in the window, on the command line and in the README.
struct Card {
  std::string_view gains, costs, legal_when;
};

/// One action of one stage, by what it is made of, each alone on its resource.
struct ActionTime {
  Duration lead{};  // weights it waits for; they are sent for when the computation before ends
  Duration compute{};
  Duration blocking{};  // collectives after it that the stage's next action waits for
  Duration gather{};    // weights that arrive beside it, after the lead
  Duration beside{};    // keys and values that travel beside it
  // Parts of the two that use the links which weights and gradients use, and share them with those.
  Duration blocking_shared{}, beside_shared{};
  friend bool operator==(const ActionTime&, const ActionTime&) = default;
};

/// Gradient or weight traffic of one stage: of its first (or last) layer, and of the others.
struct LayerTraffic {
  Duration last{}, others{};
};

/// What a step of a pipeline is made of, by virtual stage; nothing contends but waves of one
/// device.
struct PipelineTimes {
  std::vector<ActionTime> forward, backward;
  std::vector<ActionTime> backward_input, backward_weight;  // of schedules that split backward
  std::vector<Duration> update;      // of schedules that update weights themselves
  std::vector<Duration> publish;     // weights after such an update, before the next forward
  double fill = 1;                   // share of the device that one wave occupies, (0, 1]
  std::vector<LayerTraffic> reduce;  // gradients: others beside the backward that makes them, last
                                     // after it
  std::vector<LayerTraffic> arrive;  // weights of the last update beside the first forward; zero =
                                     // they are there
  bool reduce_every = false;         // with every microbatch, not only the last
  bool reduce_overlapped = true;     // else after the backward, and the next action waits
  Duration transfer{};               // one message to a neighbouring stage
  bool blocking_sends = false;       // the stage's next action waits until it has left
  std::vector<Duration> host_copy;   // one microbatch's activations to the host, or back; empty =
                                     // they stay
  double contention = 0;  // of the shorter: what computation and traffic beside it, while both run,
                          // take longer
};

/// Microbatches that a copy of a stage holds at a moment.
struct HeldCount {
  std::uint32_t copy = 0;  // stage * copies + copy, an index as of PipelineEstimate::live
  int live = 0;            // from their forward until their (input) backward
  int for_weight = 0;      // from the end of their input pass until their weight pass
};
/// What a device holds while each of some actions runs.
struct HeldMoment {
  struct Running {
    Phase phase = Phase::Forward;
    std::uint32_t copy = 0;  // whose action it is
  };
  std::vector<HeldCount> counts;  // of each copy on the device, in order
  std::vector<Running> running;   // one at a time
};

/// A schedule's step up to its updates.
struct PipelineEstimate {
  Duration span{};                // until the last backward has ended
  std::vector<Duration> ends;     // when each stage's last backward has
  std::vector<Duration> reduced;  // when each stage's gradients are reduced
  std::vector<int> live;  // by copy of a stage: most microbatches whose activations it holds until
                          // their backward; under a split backward, until their input gradient
  // By device: moments of which one is the fullest, whatever each microbatch weighs.
  std::vector<std::vector<HeldMoment>> moments;
  // Asynchronous schedules: span is the pace, from the end of one step to the end of the next with
  // all updates.
  bool paced = false;
  std::vector<int> older_versions;  // by copy of a stage: weights held beside the current ones
};

struct Method {
  std::string_view name;  // as in plan.json and on the command line
  MethodAxis axis = MethodAxis::Schedule;
  std::string_view summary;
  Paper paper;
  Card card;
  std::string_view file;  // "core/methods/schedules/1f1b.cpp"
  std::vector<ParamSpec> params = {};
  /// All that forbids or endangers it in this scenario, whose plan is complete.
  Diagnostics (*check)(const Scenario&, const Params&) = nullptr;
  /// Schedules only: which devices hold its stages.
  Placement placement = Placement::Cyclic;
  /// Schedules only. The shape's placement is the method's.
  Order (*order)(const ScheduleShape&, const Params&) = nullptr;
  /// Asynchronous schedules only: of so many steps and one more, the one in the middle takes the
  /// time of every further one, its pipeline full before and after. Empty for a schedule whose step
  /// begins and ends with nothing in flight.
  int (*settles)(const ScheduleShape&, const Params&) = nullptr;
  /// Schedules only: its order has input and weight gradients as actions of their own.
  bool splits_backward = false;
  /// Schedules that have a formula: what planners score instead of laying a program out. Without
  /// one the order itself is followed (estimate_pipeline() in closed_form.h).
  PipelineEstimate (*closed_form)(const ScheduleShape&, const PipelineTimes&) = nullptr;
  /// Settles facts before ops are written.
  void (*arrange)(Layout&, const Scenario&, const Params&) = nullptr;
  /// Rewrites one kind of layer.
  void (*rewrite)(Body&, const Layout&, const Scenario&, const Params&) = nullptr;
};

}  // namespace trainyard
