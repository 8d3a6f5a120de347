// A Method is one idea from one paper: what it is, when it is legal, what it gains and costs, and
// the only code that changes how a model is trained by it.
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

/// MethodAxis groups the catalogue. A plan has at most one method on each of the axes Schedule and
/// Precision.
enum class MethodAxis : std::uint8_t {
  Schedule,
  Sharding,
  Reduction,
  Memory,
  Precision,
  Communication,
  Data
};
std::string_view to_string(MethodAxis);

struct Paper {
  std::string_view title, authors, venue;
  int year = 0;
};

/// What a method gains and costs, in the words that the window and the command line show.
struct Card {
  std::string_view gains, costs, legal_when;
};

/// ActionTime is the time of one action of one stage by its parts, each as if it ran alone on its
/// resource.
struct ActionTime {
  Duration lead{};  // weights that it waits for; their gather starts when the previous computation
                    // ends
  Duration compute{};
  Duration blocking{};  // collectives after it for which the stage's next action waits
  Duration gather{};    // weights that arrive while it computes, after the lead
  Duration beside{};    // keys and values that are sent while it computes
  // These are the parts of the two times above on the links that weights and gradients use as well,
  // so that they share the bandwidth.
  Duration blocking_shared{}, beside_shared{};
  friend bool operator==(const ActionTime&, const ActionTime&) = default;
};

/// LayerTraffic is the gradient or weight communication of one stage: that of its first (or last)
/// layer, and that of the others.
struct LayerTraffic {
  Duration last{}, others{};
};

/// PipelineTimes are the times of which a pipeline's step consists, by virtual stage. Nothing
/// contends in them except waves on one device.
struct PipelineTimes {
  std::vector<ActionTime> forward, backward;
  std::vector<ActionTime> backward_input, backward_weight;  // for schedules that split backward
  std::vector<Duration> update;     // for schedules that update weights themselves
  std::vector<Duration> averaging;  // an update that takes the mean of waves' weights too
  int averages_every = 0;  // it is each that writes a version which this divides; 0 = none is
  std::vector<Duration> publish;  // gather of weights after such an update, before the next forward
  double fill = 1;                // share of the device that one wave occupies, in (0, 1]
  std::vector<LayerTraffic> reduce;  // gradients: `others` during the backward that makes them,
                                     // `last` after it
  std::vector<LayerTraffic> arrive;  // weights of the last update during the first forward; zero =
                                     // they are already there
  bool reduce_every = false;  // gradients are reduced after every microbatch, not only after the
                              // last
  bool reduce_overlapped = true;    // false: reduced after the backward, and the next action waits
  Duration transfer{};              // one message to a neighbouring stage
  bool blocking_sends = false;      // the stage's next action waits until its message has been sent
  std::vector<Duration> host_copy;  // one microbatch's activations to the host, or back; empty =
                                    // they stay on the device
  double contention = 0;  // slowdown of computation and communication while both run, as a share of
                          // the shorter of the two
};

/// HeldCount is the number of microbatches whose activations a copy of a stage holds at a moment.
struct HeldCount {
  std::uint32_t copy = 0;  // stage * copies + copy, the index used by PipelineEstimate::live
  int live = 0;            // from their forward until their (input) backward
  int for_weight = 0;      // from the end of their input pass until their weight pass
};
/// A HeldMoment is what a device holds while certain actions run.
struct HeldMoment {
  struct Running {
    Phase phase = Phase::Forward;
    std::uint32_t copy = 0;  // copy of the stage whose action it is
  };
  std::vector<HeldCount> counts;  // one per copy of a stage on the device, in order
  std::vector<Running> running;   // these run at such a moment, but only one at a time
};

/// The effect of pairs on one device in a step: they hide that much of the blocking communication,
/// and forwards and backwards compute longer by that much beside it.
struct PairedTime {
  Duration hidden{}, forward{}, backward{};
};

/// PipelineEstimate describes a schedule's step up to its updates.
struct PipelineEstimate {
  Duration span{};                // until the last backward has ended
  std::vector<Duration> ends;     // end of each stage's last backward
  std::vector<Duration> reduced;  // when each stage's gradients are reduced
  std::vector<int> live;  // by copy of a stage: most microbatches whose activations it holds until
                          // their backward; under a split backward, until their input gradient
  // By device, the moments among which is the one with the most memory, whatever size each
  // microbatch has.
  std::vector<std::vector<HeldMoment>> moments;
  // For asynchronous schedules: span is the time from the end of one step to the end of the next,
  // with all updates.
  bool paced = false;
  std::vector<int> older_versions;  // by copy of a stage: weight versions held beside the current
                                    // one
  std::vector<PairedTime> pairs;    // by device; empty where the order has no pairs
};

struct Method {
  std::string_view name;  // as written in plan.json and on the command line
  MethodAxis axis = MethodAxis::Schedule;
  std::string_view summary;
  Paper paper;
  Card card;
  std::string_view file;  // "core/methods/schedules/1f1b.cpp"
  std::vector<ParamSpec> params = {};
  /// Returns everything that forbids or endangers the method in this scenario, whose plan is
  /// complete.
  Diagnostics (*check)(const Scenario&, const Params&) = nullptr;
  /// For schedules only: which devices hold its stages.
  Placement placement = Placement::Cyclic;
  /// For schedules only: the order of work. The shape's placement is the method's.
  Order (*order)(const ScheduleShape&, const Params&) = nullptr;
  /// For asynchronous schedules only: of a run of `settles` steps plus one, the step in the middle
  /// takes as long as every further step, because the pipeline is full before and after it. Null
  /// for a schedule whose step begins and ends with nothing in flight.
  int (*settles)(const ScheduleShape&, const Params&) = nullptr;
  /// For schedules with parameters that may be left to it: what they come to in this shape, whose
  /// microbatches are all of a step. order() decides the same where they are still open.
  Params (*decide)(const ScheduleShape&, const Params&) = nullptr;
  /// For schedules only: whether its order has input and weight gradients as separate actions.
  bool splits_backward = false;
  /// For schedules with a formula, which planners evaluate instead of lowering a program. Without
  /// one the order itself is followed (estimate_pipeline() in closed_form.h).
  PipelineEstimate (*closed_form)(const ScheduleShape&, const PipelineTimes&) = nullptr;
  /// For methods that change the model itself: returns it as the plan trains it. The model is as
  /// the user gave it, changed by such methods before this one in the catalogue. The plan is
  /// complete. Throws Error{InvalidInput} where it cannot be changed so.
  Model (*derive)(Model, const Plan&, const Params&) = nullptr;
  /// Changes the layout before ops are written.
  void (*arrange)(Layout&, const Scenario&, const Params&) = nullptr;
  /// Rewrites one kind of layer.
  void (*rewrite)(Body&, const Layout&, const Scenario&, const Params&) = nullptr;
};

}  // namespace trainyard
