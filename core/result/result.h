// A Result is the answer to "will it fit, how fast is it, and why", which simulate and estimate
// print as trainyard/result@1. It is plain data; result_json writes it, verdict words it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/banded.h"
#include "core/base/units.h"
#include "core/cluster/host.h"
#include "core/cluster/site.h"
#include "core/memory/replay_allocator.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/plan.h"
#include "core/result/assumed.h"
#include "core/result/asynchrony.h"
#include "core/result/energy.h"
#include "core/result/evaluation_cost.h"
#include "core/result/flops_definition.h"
#include "core/result/gradient_traffic.h"
#include "core/result/input_cost.h"
#include "core/result/operation_energy.h"
#include "core/rules/fired_rule.h"
#include "core/timeline/metrics.h"

namespace trainyard {

/// A Fix is one change of one setting, priced by simulating it.
struct Fix {
  std::string set;       // "recompute=selective": an argument of --set
  std::string sentence;  // "recompute attention: frees 11.4 GiB on stage 0, costs 7.0 % of the
                         // step"
  Bytes saves{};         // on the worst device; negative = takes more memory
  double costs = 0;      // share of the step; negative = faster
  bool fits = false;     // whether the plan fits after it
  Bytes peak{};          // of the worst device after it
  Duration step{};
};

/// A PeakPart is a tensor or state at the peak of the worst device.
struct PeakPart {
  std::string name;  // "activations of 4 microbatches: attention scores"
  Category category = Category::Activations;
  Bytes bytes{};
};

/// FitWord is what remains of a verdict under the memory band.
enum class FitWord : std::uint8_t { Fits, MayNotFit, DoesNotFit };
std::string_view to_string(FitWord);  // "may not fit": the capacity lies within the band of the
                                      // peak

struct Verdict {
  bool fits = true;  // by the predicted peak alone
  FitWord word = FitWord::Fits;
  Bytes margin{};  // capacity minus the peak of the worst device; negative = over
  DeviceId worst_device;
  StageId worst_stage;
  Instant at{};                      // when that peak is reached
  std::string phase;                 // what the stage was doing then: "forward of microbatch 3"
  std::vector<PeakPart> peak_parts;  // parts of the peak, largest first
  std::string where;     // "on stage 0 (device 0), forward ...; activations make 60.3 GiB."
  std::string sentence;  // the whole verdict in words: headline() and where
  std::string limit;  // "Limited by bubble: 34.7 % of device time": what costs most of it, in words
  std::vector<Fix> fixes;   // cheapest first, at most three; only when it does not fit
  std::optional<Fix> gain;  // when it fits: the cheapest single change that makes the step shorter
                            // and still fits
};

/// Returns "Fits: 3.1 GiB spare"; where the band decides, with the band.
std::string headline(const Verdict&, const Banded<Bytes>& peak);

/// A NearRow is a published row that is similar to this run.
struct NearRow {
  std::string id;
  double distance = 0;  // 1 is a large difference in one important respect
  friend bool operator==(const NearRow&, const NearRow&) = default;
};

/// Evidence is what measured runs say about a prediction.
struct Evidence {
  std::vector<NearRow> nearest;        // nearest first
  bool outside = false;                // whether the run is outside of what was validated
  std::string sentence;                // states that, or which rows are near
  std::vector<std::string> unchecked;  // parts of the plan that no row has
};

struct StageMemory {
  StageId stage;
  DeviceId device;
  Banded<Bytes> peak;
  Instant at{};
  CategoryBytes categories{};  // at the device's peak
  Bytes reserved{};            // by the allocator and the process for that peak; >= the peak
  std::optional<AllocatorReplay> replay{};  // for the fullest device, where every tensor is known
  Bytes capacity{};  // of its device where kinds of devices differ; 0 = Result::capacity
};

/// SampleDocuments say what the samples of a plan that packs or pads consist of.
struct SampleDocuments {
  double a_sample = 1;        // mean number of documents
  double efficiency = 1;      // share of computed tokens that are no padding, in (0, 1]
  double width = 0;           // mean tokens of a sample that are computed
  std::int64_t sequence = 0;  // tokens of a sample for which there is memory; `width` is less where
                              // microbatches are as wide as their longest document
};

/// A phase of a batch ramp, and the price of one of its steps.
struct PricedPhase {
  BatchPhase phase;
  Banded<Duration> step;
  double work = 0;  // tokens of a step, or samples of a model without tokens
  double mfu = 0;
  Bytes peak{};  // of the fullest device
  std::optional<Banded<Joules>> energy;
  std::optional<Banded<double>> money;  // US dollars
  double evaluation = 0;                // time that a step adds for evaluations, as a share of it
};

struct Result {
  std::string fidelity;      // "estimate", "simulate: order grain", "simulate: op grain"
  std::uint64_t digest = 0;  // of the canonical text of the scenario
  std::string model_name;
  std::int64_t parameters = 0, active_parameters = 0;
  std::optional<std::int64_t> trained_parameters;  // where the plan freezes some
  std::string cluster_name, device_name;
  std::int64_t devices = 1, devices_per_node = 1;
  Plan plan;  // complete
  Verdict verdict;
  Banded<Duration> step;
  double tokens_per_step = 0, samples_per_step = 0;
  bool counts_tokens = true;
  std::optional<SampleDocuments> documents;  // empty where a sample is one text
  // In order, the last with the step above; empty where every batch is the full one, and where
  // nobody has priced the others (training_cost.h).
  std::vector<PricedPhase> ramp;
  // Both count one step on all devices: a forward, and a backward of what is trained. Model FLOPs
  // are what the step needs, without gradients of frozen weights; hardware FLOPs count
  // recomputation too.
  Flops model_flops{}, hardware_flops{};
  FlopsPerSecond peak_flops{};  // dense, of one device, in the plan's format
  double mfu = 0, hfu = 0;      // shares <= 1 of the peak
  // What other programs would print for the same step: shares by each definition that counts model
  // FLOPs.
  std::vector<std::pair<FlopsDefinition, double>> stated_mfu;
  double bubble_fraction = 0, exposed_communication_fraction = 0;
  Bytes capacity{};
  std::vector<StageMemory> memory;  // one per device (its first stage), in order
  std::optional<HostMemory> host;   // empty where the device keeps everything
  Breakdown breakdown;              // of the critical device
  DeviceId critical_device;
  Breakdown device_time;  // of all pipeline ranks together; the two fractions above are shares of
                          // it
  std::optional<PowerDraw> power;        // of one device in this plan, by activity
  std::optional<Banded<Joules>> energy;  // of one step on all devices
  std::optional<Banded<double>> money;   // US dollars of one step
  std::optional<Asynchrony> asynchrony;  // shown beside step and throughput: what asynchrony costs
                                         // in tokens
  std::vector<Assumed> assumptions;      // settings that were not given, most important first
  std::vector<std::string> leaves_out;
  std::optional<Evidence> evidence;                 // empty where no published rows were searched
  std::optional<GradientTraffic> gradient_traffic;  // empty where gradients are sent whole
  std::optional<EvaluationCost> evaluation;         // empty where the plan does not evaluate, and
                                                    // where nobody has priced it
  std::optional<InputCost> input;  // empty where the plan takes its samples to be at hand; what it
                                   // makes a step wait is a part of `step`
  std::vector<FiredRule> rules;  // that fired on its timeline, or where one was measured on its run
  Site site{};                   // whose electricity the cluster takes (carbon.h)
  std::vector<OperationEnergy> operations{};  // empty where nobody asked for them
};

double tokens_per_second(const Result&);
/// Returns the tokens a second that are no padding.
double useful_tokens_per_second(const Result&);
/// Returns what one device draws, as mean over the step and all devices; 0 where no energy is
/// known.
Watts mean_draw(const Result&);
/// Returns the peak of its fullest device.
Bytes worst_peak(const Result&);

}  // namespace trainyard
