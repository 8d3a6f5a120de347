// CpuExecution implements Execution for the CPU backend: what each instruction of a RunPlan does to
// the devices.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_run.h"
#include "backends/cpu/execution/exchange/collectives.h"
#include "backends/cpu/execution/execution.h"
#include "backends/cpu/execution/numbers/flip_guard.h"
#include "backends/cpu/execution/numbers/operand_scales.h"
#include "backends/cpu/execution/rule_sight.h"
#include "backends/cpu/execution/state/device_state.h"
#include "backends/cpu/execution/state/job_state.h"
#include "backends/cpu/kernels/narrow_product.h"
#include "backends/cpu/kernels/onednn.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/precision/update_rule.h"
#include "core/methods/schedules/wave_average.h"
#include "core/training/data/document_stream.h"
#include "core/training/data_source.h"
#include "core/training/numbers/narrow_format.h"
#include "core/training/numbers/scaled_numbers.h"
#include "core/training/optimizers/delayed_update.h"
#include "core/training/optimizers/optimizer_step.h"
#include "core/training/parameter_server.h"
#include "core/training/trained_tensor.h"
#include "core/training/training.h"

namespace trainyard {

/// Returns how the plan's products cast their operands to few bits; null where none does.
std::unique_ptr<const NarrowScaling> narrow_scaling(const Workload&);

class CpuExecution final : public Execution {
 public:
  /// One job, or several that are trained together, which check_fused() of backends/cpu/fused.h has
  /// found to be possible.
  CpuExecution(const RunPlan&, const CpuOptions&, std::span<const TrainedJob>);

  const Program& program() const override { return plan_.program; }
  int peers() const override { return plan_.peers.count(); }
  void begin_repetition(int repetition) override;
  void end_repetition(int repetition) override;
  void begin(InstructionId, int peer, Scratch&) override;
  TravelPtr exchange(InstructionId, std::span<const int> members) override;
  TravelPtr announced(InstructionId, int peer) override;
  void end(InstructionId, int peer) override;
  std::span<const int> members(InstructionId, int peer) const override;
  bool updates_together() const override { return together_; }
  bool here(DeviceId device, int peer) const override {
    return processes() == nullptr || process_of(device, peer) == processes()->rank();
  }
  Processes* processes() const override { return options_.processes; }
  Arena& arena(DeviceId device, int peer) override { return state(device, peer).arena(); }

  // The following are called between repetitions, from one thread.

  /// The rank of the process that a device is of.
  int process_of(DeviceId, int peer) const;
  /// Returns whether state() may be asked for it.
  bool holds(DeviceId device, int peer) const { return devices_[index(device, peer)] != nullptr; }
  /// Gives the first process the weights and optimizer state of all devices. All processes call it.
  void fetch_state();
  /// Forgets what fetch_state() has brought here.
  void forget_fetched();
  /// A device of this process; on the first process any, once fetch_state() has been called.
  DeviceState& state(DeviceId device, int peer) { return *devices_[index(device, peer)]; }
  /// The widths of microbatches so far, those of all processes; nothing where samples are whole
  /// sequences.
  std::optional<RunWidths> widths() const;
  const DeviceState& state(DeviceId device, int peer) const {
    return const_cast<CpuExecution*>(this)->state(device, peer);
  }
  /// The optimizer state of a place that NVMe has, all of it; empty if NVMe has none. Neither
  /// buffers nor the ledger have these copies, which exist between two steps only.
  std::vector<std::byte> state_on_nvme(const DeviceState&, std::size_t place) const;
  void set_state_on_nvme(DeviceState&, std::size_t place, std::span<const std::byte>);
  /// Number of updates of the whole model so far.
  std::int64_t updates() const { return updates_; }
  /// Samples of the stream that updates have taken so far.
  std::int64_t consumed() const {
    return first_sample_ + (updates_ - first_update_) * plan_.workload.scenario.plan.batch.global;
  }
  /// Goes on after so many updates, which have taken so many samples; a multiple of a microbatch's.
  void go_on(std::int64_t updates, std::int64_t consumed) {
    updates_ = first_update_ = updates;
    first_sample_ = consumed;
    sights_.clear();
  }
  /// A part of a parameter with all that the device which updates it holds of it: its weights,
  /// their master copy before them where there is one, and the optimizer's state.
  struct HeldState {
    std::byte* data = nullptr;
    std::size_t each = 0;  // bytes of an element
  };
  struct HeldPart {
    int model_layer = 0;
    TensorId tensor;
    std::int64_t first = 0, elements = 0;  // of the tensor that this rank computes with
    DType type = DType::F32;               // of the first state
    std::vector<HeldState> states;
  };
  /// Returns those of a peer, in the order of the model. Only where a device holds no more than one
  /// set of each kind of state, and none by tensor.
  std::vector<HeldPart> held_parts(int peer);
  /// Gives a peer's memory back to the system, and puts new memory in its place: there is no number
  /// in what it holds of parameters until their owner restores it, who then calls restored().
  void replace(DeviceId, int peer);
  void restored() { gather_all(); }
  /// Returns what every process knows of the run beside what its devices hold, with which one that
  /// takes another's place goes on.
  std::string shared_state() const;
  void go_on(std::string_view shared_state);
  /// Null where no bits flip and nothing looks for flipped ones.
  FlipGuard* flips() { return flips_.get(); }
  /// Begins a step of it: flips bits of what devices hold between two updates, looks at that, and
  /// settles it. Only before begin_repetition(); all processes call it.
  void begin_flips();
  /// Sees what devices hold after an update, with which begin_flips() compares it.
  void see_state();
  LossScaler& scaler() { return scaler_; }
  /// Null unless products are in 8 or 4 bits.
  OperandScales* scales() { return scales_.get(); }
  double gradient_norm(std::size_t job = 0) const { return jobs_[job].gradient_norm; }
  bool skipped() const { return skip_; }
  /// Returns the orthogonality of the updates that the last repetition combined, by model layer;
  /// empty where replicas do not combine updates.
  const std::vector<double>& orthogonality() const { return orthogonality_; }
  /// Returns the share of the energy of gradients that the last repetition sent, by model layer;
  /// empty where replicas do not compress them.
  const std::vector<double>& energy_sent() const { return energy_sent_; }
  /// Returns how many changes the server has taken by their staleness, as BackendRun counts them.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }
  /// For asynchronous programs: called with the number of each step once its last loss is known, by
  /// the thread that computed it.
  std::function<void(std::int64_t)> step_done;
  /// The loss of a microbatch of this repetition, by its index in data order; may be called as soon
  /// as it is known.
  double loss(std::size_t microbatch, std::size_t job = 0) const;
  /// Nothing is done for the job from the next repetition on; its weights stay as they are.
  void end_job(std::size_t job) { jobs_[job].runs = false; }
  /// The losses of the repetition that has ended, by microbatch in data order.
  std::vector<double> losses() const;
  const OptimizerRule& rule() const { return *jobs_.front().rule; }
  /// Returns whether a place keeps weights that its updates derive with its optimizer state.
  bool derives(std::size_t place) const {
    return !rules_.empty() && derives_weights(rules_[place]);
  }
  bool scales_loss() const { return scales_loss_; }
  /// The next repetition notes what rules read of it (core/rules/look.h), which take_look() returns
  /// after its end: of all devices, so that all processes call both. Only for synchronous programs.
  void look(RuleReads);
  Look take_look();
  /// The next repetition notes its numbers, beside what rules read where look() was called before;
  /// take_numbers() returns those of all devices after its end, before take_look().
  void watch_numbers();
  SeenNumbers take_numbers();
  /// The parameter, gathered from its shards and tensor ranks, and from the master copy if there is
  /// one.
  std::vector<float> whole_parameter(std::size_t place, const PlacedLayer&, const PlacedParameter&,
                                     std::size_t job = 0) const;
  /// Returns what batch norms remember of the microbatches that they were trained on, for
  /// evaluate().
  std::vector<TrainedTensor> whole_statistics() const;
  /// Writes this device's part of a whole tensor into its weights and master copy.
  void set_parameter(DeviceState&, std::size_t place, std::size_t layer, const PlacedParameter&,
                     const std::vector<float>& whole, std::size_t job = 0);

 private:
  struct At {
    const Instruction& instruction;
    const Task& task;
    DeviceState& device;
    std::size_t place;
    std::int32_t microbatch;
    int peer;
  };
  At at(InstructionId, int peer);
  std::size_t index(DeviceId device, int peer) const {
    return device.value * static_cast<std::size_t>(peers()) + static_cast<std::size_t>(peer);
  }
  InstructionId id_of(const At& a) const {
    return {static_cast<std::uint32_t>(&a.instruction - plan_.program.instructions.data())};
  }
  void make_state();
  void begin_device(DeviceId, int peer);
  void hold_state(DeviceState&, std::size_t place);
  void fill_weights(DeviceState&, std::size_t place, std::size_t job);
  void end_loss(const At&, float loss, std::size_t job);
  // Calls f(job, how far its bytes lie behind the first one's) for every job that runs.
  template <class F>
  void each_job(const DeviceState& device, F&& f) const {
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      if (jobs_[job].runs) f(job, static_cast<std::ptrdiff_t>(job) * device.arena().stride());
  }

  // Defined in cpu_passes.cpp.
  void take_all(const At&, bool at_end);
  void release_all(const At&, bool at_end);
  void compute(const At&, Scratch&);
  onednn::Counts compute_stage(const At&, std::size_t l, Flight&, const LayerLayout&, Scratch&);
  void run(const At&, std::size_t layer, Flight&, const KernelRun&, Scratch&);
  // Calls f(call, loss, job) for every job that runs.
  template <class F>
  void with_call(const At&, std::size_t layer, Flight&, const KernelRun&, Scratch&, F&&);
  void take_unwanted(const LayerLayout&, const LayerSizes&, const KernelRun&, Scratch&,
                     std::span<TensorView> inputs, std::span<TensorView> weights) const;
  LocalNode local_node(const LayerLayout&, const Node&) const;
  bool loses_over_ranks(const Node&) const;
  void read_data(const At&, const LayerLayout&, std::size_t layer, Flight&);
  const OpRun& op_of(const At&) const;
  const Node& node_of(const At&) const;
  std::int64_t sample(std::int32_t microbatch, int replica) const;
  std::int64_t first_sample(std::int32_t microbatch, int peer) const;  // in the stream of data
  std::int64_t samples_before() const;  // in microbatches of all replicas, before this repetition

  // Defined in cpu_parameters.cpp.
  const std::byte* weights_read(const At&, const StageState&) const;
  // A parameter as its layer sees it, where its first element is in the part of a layer's state
  // that it is stored in, and where it is while that is together in full.
  struct Owned {
    TensorView view;
    std::int64_t offset;
    const StatePart& part;
    std::int64_t weights_full_at, gradients_full_at;
  };
  Owned owned(const At&, std::size_t layer, TensorId) const;
  TensorView parameter(const At&, std::size_t layer, const LayerFlight&, TensorId, Pass,
                       Scratch&) const;
  TensorView parameter_gradient(const At&, std::size_t layer, const LayerFlight&, TensorId) const;
  void add_late_gradients(const At&) const;

  // Defined in cpu_bit_errors.cpp.
  double bit_error_rate(const At&) const;
  // The parameter as it lies in memory that flips bits.
  TensorView as_stored(const At&, std::size_t layer, TensorId, TensorView, Scratch&) const;

  // Defined in cpu_flips.cpp.
  DType type_of_slot(std::string_view) const;
  std::string flip_name(std::string_view what, const PlacedLayer&, std::string_view name) const;
  template <class F>
  void each_updated(F&&);
  template <class F>
  void each_updated_by(std::size_t place, int peer, F&&);
  std::map<FlipKey, FlipSight> sights_of_state();
  void look_at_state();
  void flip_weights();
  template <class Weights>
  void set_weights(std::size_t place, int peer, const Weights&);
  void flip_optimizer();
  void flip_gradients(std::size_t place, int peer);
  void flip_all_gradients();
  // Returns the number of a peer among the ranks that share the samples of its replica.
  std::int64_t rank_of_replica(int peer) const;
  void flip_message(const At& to, bool forward, std::span<std::byte> arrived, DType);
  void flip_output(const At&, std::size_t layer, NodeId, const TensorView&);

  // Defined in cpu_anchor.cpp.
  // Returns whether the microbatch is the second of a pair, which the anchor of HALP reads.
  bool reads_anchor(const At&) const;
  // The parameter as it was when the last full gradient was taken; itself where it is not trained.
  TensorView at_anchor(const At&, std::size_t layer, TensorId, TensorView, Scratch&) const;

  // Defined in cpu_hand_on.cpp.
  void deliver_output(const At&, std::size_t layer, Flight&);
  void deliver_gradient(const At&, std::size_t layer, Flight&);
  void deliver_side(const At&, std::size_t layer, Flight&);
  void deliver_side_gradient(const At&, std::size_t layer, Flight&);

  // Defined in cpu_statistics.cpp.
  void hold_statistics(StageState&, const StagePlacement&) const;
  bool is_seen_by_statistics(const At&, const Node&, Pass) const;
  void run_batch_norm(const At&, std::size_t layer, NodeId, const KernelCall&) const;

  // Defined in cpu_narrow.cpp.
  void find_narrow();
  bool is_narrow(const LayerLayout&, const Node&) const;
  void run_narrow(const At&, std::size_t layer, Flight&, const KernelRun&, const KernelCall&);
  std::size_t operand_of(const PlacedLayer&, TensorId) const;

  // Defined in cpu_narrow_weights.cpp.
  void hold_tiles(StageState&, const StagePlacement&) const;
  std::size_t tiles_at(std::size_t place, const PlacedLayer&, const PlacedParameter&) const;
  // `own`: the part of the whole tensor that this device computes with.
  void begin_with(StageState&, std::size_t place, const PlacedLayer&, const PlacedParameter&,
                  const std::vector<float>& whole, const std::vector<float>& own);
  WeightCodes codes_at(std::size_t place, std::byte* stage_weights, std::byte* codes) const;
  // `first`: the parameter's element at which the numbers begin.
  void write_codes(const StageState&, std::size_t place, const PlacedLayer&, const PlacedParameter&,
                   std::byte* stage_weights, std::byte* to, std::int64_t first,
                   std::span<const float> numbers, bool next) const;
  // `first` is the code of the parameter's first element, or where it would be if the device held
  // all of them.
  float number_of_code(const StageState&, std::size_t place, const PlacedLayer&,
                       const PlacedParameter&, std::byte* stage_weights, std::byte* first,
                       std::int64_t index) const;
  std::vector<std::byte> codes_of(const StageState&, std::size_t place, std::size_t layer,
                                  const StatePart&, const PartRange&,
                                  const std::byte* weights) const;
  void apply_narrow(ParameterPart&, const StepFacts&, const TensorNorms&, std::size_t norm,
                    std::size_t place, StageState&, std::byte* stage_weights) const;
  bool casts_what_came(const StatePart&) const;
  TravelPtr gather_and_cast(const Company&, std::size_t place, std::size_t layer, const StatePart&,
                            std::span<const int> members);
  TravelPtr agree_on_sizes(const At&, std::span<const int> members);
  TravelPtr agree_on_tiles(const At&, std::span<const int> members);
  void cast_own(StageState&, std::size_t place, const PlacedLayer&, const PlacedParameter&,
                int peer) const;
  void widen(const At&, std::size_t layer, Flight&, const Operand&) const;

  // Defined in cpu_exchange.cpp.
  TravelPtr send(InstructionId, int peer);
  int message_number(InstructionId send, int peer) const {
    return static_cast<int>(send.value) * peers() + peer;
  }
  TravelPtr reduce_tensor(const At&, std::span<const int> members);
  TravelPtr reduce_copies(InstructionId, int peer);
  TravelPtr exchange_loss(const At&, std::span<const int> members);

  // Defined in cpu_halo.cpp.
  static TravelPtr exchange_halos(const Node&, bool gradients, const Company&,
                                  const std::vector<std::byte*>& images, const TensorView&);

  // Defined in cpu_norm_means.cpp.
  bool averages_means(const At&) const;
  void find_means(const At&, Scratch&);
  void run_with_means(const At&, const KernelCall&, Pass) const;
  TravelPtr average_means(const At&, std::span<const int> members);

  // Defined in cpu_context.cpp.
  SequencePart ring_part(int peer) const;
  const KernelRun& run_beside(const At&) const;
  void make_views(const At&, Scratch&);
  TravelPtr pass_round(const At&, std::span<const int> members);
  TravelPtr gather_round(const At&, std::span<const int> members, std::size_t which);
  TravelPtr sum_round(const At&, std::span<const int> members, std::size_t which);
  void attend_round(LayerFlight&, int ring, std::span<TensorView> inputs,
                    std::span<TensorView> gradients, std::span<std::uint8_t> adds) const;
  void end_round(const At&, LayerFlight&, Pass, const Scratch&);

  // Defined in cpu_divided_state.cpp.
  // Elements of a part of a layer's state that a layer gathers and scatters together.
  struct Stretch {
    const StatePart& part;
    std::int64_t first, elements;                     // in the part
    std::int64_t weights_full_at, gradients_full_at;  // in the layer that gathers and scatters
    bool own;                                         // the part is that layer's
  };
  std::vector<Stretch> stretches(std::size_t place, std::size_t layer, bool routed) const;
  static std::vector<PartRange> shares_of(const Stretch&, std::size_t ranks);
  static TravelPtr each_in_turn(std::vector<Stretch>, std::size_t next,
                                std::function<TravelPtr(const Stretch&)>);
  TravelPtr reduce_gradients(const At&, std::span<const int> members);
  TravelPtr reduce_stretch(const At&, const Stretch&, std::span<const int> members);
  TravelPtr gather_weights(const At&, std::span<const int> members);
  TravelPtr gather_stretch(const Company&, std::size_t place, std::size_t layer, const Stretch&,
                           std::int32_t microbatch, std::span<const int> members,
                           std::vector<const std::byte*> weights);
  void gather_all();

  // Defined in updated_parts.h.
  bool has_own_state(const PlacedParameter& p) const {
    return p.owner < 0 && (p.tied_to.empty() || plan_.workload.layout.tied_copies);
  }
  template <class F>
  void each_of_replica(const StageState&, std::size_t place, std::size_t layer, F&&) const;

  // Defined in cpu_adasum.cpp.
  float* kept_before(const StageState&, std::size_t place) const;
  template <class F>
  void each_combined(const StageState&, std::size_t place, std::size_t layer, F&&) const;
  void keep_before(const StageState&, std::size_t place) const;
  void take_change(const StageState&, std::size_t place) const;
  TravelPtr combine_updates(const At&, std::span<const int> members);
  void add_combined(const At&, std::size_t layer, std::span<const int> members);
  void find_ratios();

  // Defined in cpu_relaxed.cpp.
  std::vector<std::span<float>> averaged_state(const StageState&, std::size_t place,
                                               std::size_t layer) const;
  TravelPtr meet(const At&, std::span<const int> members);
  void go_on_from(DeviceState&, std::size_t place, std::size_t layer,
                  std::span<const float> sum) const;
  void begin_centre(const StageState&, std::size_t place, const StatePart&, const PlacedParameter&,
                    std::span<const float> whole) const;
  std::vector<float> parameter_of_all(std::size_t place, const PlacedLayer&,
                                      const PlacedParameter&) const;

  // Defined in cpu_rules.cpp.
  template <class F>
  void seen_by_rules(ParameterPart&, double scale, std::size_t norm, std::size_t place, int peer,
                     F&& apply);
  bool is_seen_on(std::size_t norm, std::size_t place, int peer) const;
  LookedTensor looked(const SeenTensor&, TensorFacts) const;
  void show_outputs(const At&, std::size_t layer, NodeId, const KernelCall&);
  void show_units(const At&, std::size_t layer, TensorId, const TensorView&, TensorRole, NodeId);
  void show_numbers(const At&, std::size_t layer, TensorId made, const TensorView&);
  void show_answers(const At&, const KernelCall&);
  void show_images(const At&, std::size_t layer, const KernelCall&);
  void show_tokens(const At&, const KernelCall&);
  SeenByRules& seen_on(DeviceId device, int peer) { return sight_->devices[index(device, peer)]; }
  std::unique_ptr<RuleSight> sight_;  // null unless this repetition is looked at

  // Defined in cpu_downpour.cpp.
  Arrivals server_arrivals() const;
  void count_staleness();  // of the exchange that follows the updates so far, if there is one
  std::span<float> served(const StageState&, std::size_t place, const PlacedLayer&) const;
  TravelPtr push_changes(const At&, std::span<const int> members);
  TravelPtr fetch_weights(const At&, std::span<const int> members);
  void begin_server(const DeviceState&, std::size_t place, const PlacedLayer&,
                    const PlacedParameter&, std::span<const float> whole) const;
  std::vector<float> parameter_of_server(std::size_t place, const PlacedLayer&,
                                         const PlacedParameter&) const;

  // Defined in cpu_compression.cpp.
  struct Exchanged {
    std::int64_t in_gradients = 0, in_state = 0;  // where a parameter's first element is
  };
  bool decays_gradients() const;
  bool is_exchanged(const PlacedParameter& p, bool compressed) const {
    return has_own_state(p) && !p.frozen && p.matrix == compressed;
  }
  template <class F>
  void each_exchanged(std::size_t place, std::size_t layer, bool compressed, F&&) const;
  void clip_local(std::span<float> gradient) const;
  TravelPtr exchange_compressed(const At&, std::span<const int> members);
  TravelPtr exchange_dense(const At&, std::span<const int> members);
  TravelPtr exchange_largest(const At&, std::span<const int> members);
  void pack_largest(DeviceState&, std::size_t place, const PlacedLayer&, const PlacedParameter&,
                    const Exchanged&, std::vector<std::byte>& into) const;
  void add_decay(const StageState&, const PlacedLayer&, const PlacedParameter&,
                 std::int64_t in_state, int senders, std::span<float> gradient) const;
  void add_largest(DeviceId, std::size_t place, std::size_t layer, double ratio,
                   std::span<const int> members, const Company&,
                   std::span<const std::byte* const> parts);

  // Defined in cpu_hierarchical.cpp.
  std::int64_t compressed_elements(std::size_t place, std::size_t layer) const;
  template <class F>
  void each_in_range(std::size_t place, std::size_t layer, const PartRange&, F&&) const;
  std::vector<float> read_gradients(const StageState&, std::size_t place, std::size_t layer,
                                    const PartRange&) const;
  void write_gradients(const StageState&, std::size_t place, std::size_t layer, const PartRange&,
                       std::span<const float>) const;
  TravelPtr scatter_in_node(const At&, std::span<const int> members);
  TravelPtr exchange_between_nodes(const At&, std::span<const int> members);
  TravelPtr gather_in_node(const At&, std::span<const int> members);

  // Defined in cpu_heads.cpp.
  struct Attended {
    std::span<TensorView> inputs, outputs, gradients, output_gradients;
  };
  TravelPtr exchange_heads(const At&, std::span<const int> members);
  void turn_to_heads(const SequenceRanks&, LayerFlight&, KernelCall&, const Attended&) const;

  // Defined in cpu_experts.cpp.
  void count_dropped(const At&, const Routing&) const;
  TravelPtr exchange_copies(const At&, std::span<const int> members);
  TravelPtr move_copies(const At&, const Company&, std::span<const int> members, bool leaves);
  void receive_copies(const At&);
  TravelPtr meet_over_copies(const At&, std::span<const int> members);
  TravelPtr gather_held(const At&, std::span<const int> members);
  TravelPtr gather_routing(const At&, TensorId copies, std::span<const int> members);

  // Defined in cpu_processes.cpp.
  void find_groups();
  void share(std::size_t stream, Group, std::span<const int> members,
             std::span<const DeviceId> devices);
  Company company(std::size_t stream, Group, std::span<const int> members) const;
  Company company_of(const At&, std::span<const int> members) const;
  void sum_over_processes(std::span<double>) const;
  Group state_group() const;

  // Defined in cpu_delayed.cpp.
  void find_rules();
  void average_waves(const At&);
  float* derived(const StageState&, std::size_t place, std::size_t set) const;
  const float* derived_read(const At&, const StageState&) const;
  StageState::Older* room_for_older(StageState&) const;
  std::byte* keep_older(const At&, StageState::Older&) const;

  // Defined in cpu_update.cpp.
  void update(const At&);
  void prepare_updates();
  void prepare_updates(std::size_t job);
  void sum_partial_gradients();
  void sum_partial_gradient(std::size_t place, const std::vector<int>& members, std::int64_t first,
                            std::int64_t elements);
  // The norms of a place's parameters lie side by side.
  std::size_t first_norm(std::size_t place) const { return norms_at_[place].front(); }
  std::size_t parameters_of(std::size_t place) const;

  // Defined in cpu_regrowth.cpp.
  void move_patterns(const At&, std::size_t set, std::size_t job);

  // Defined in cpu_tied.cpp.
  struct TiedTensor {
    std::size_t place, layer, parameter;
  };
  void find_tied();
  void sum_tied_gradients();
  template <class F>
  void each_gradient_part(const TiedTensor&, int peer, F&&);
  std::vector<float> gradient_sum(const TiedTensor&, int peer);
  void set_gradient(const TiedTensor&, int peer, const std::vector<float>&);
  bool counts(std::size_t norm, int peer) const;
  bool is_tied_copy(std::size_t norm) const;
  StepFacts step_facts(const StageState&, std::size_t set, std::size_t job = 0) const;
  // Number of replicas whose gradients are summed in those that an update takes, of which it takes
  // the mean.
  int averaged_replicas() const;
  template <class F>
  void each_part(DeviceState&, std::size_t place, std::size_t set, std::size_t job, F&&);
  template <class F>
  void each_part_of(DeviceState&, std::size_t place, std::size_t set, std::size_t layer,
                    std::size_t job, F&&);
  void prepare_together();
  void apply(ParameterPart&, const StepFacts&, std::size_t norm, std::size_t place, StageState&,
             std::byte* stage_weights, std::size_t job = 0) const;
  // The elements of a layer that a device holds of a part's weights, gradients or optimizer state;
  // it updates those of which it has the optimizer state.
  PartRange held_range(const StatePart&, const DividedState&, int peer) const;
  // Returns how the gradients that updates take are divided, and where they lie.
  const DividedState& gradients_to_update(const StatePart&) const;
  // The bytes of an element of a state slot, of all slots together, and of a moment that is kept by
  // tensor.
  int bytes_of_slot(std::string_view slot) const {
    return is_pure_bf16(weight_update_) ? 2 : bytes_of(slot_format(formats(), slot));
  }
  int bytes_of_slots() const {
    int sum = 0;
    for (const std::string_view slot : rule().slots()) sum += bytes_of_slot(slot);
    return sum;
  }
  int bytes_of_tensor_slot() const { return is_pure_bf16(weight_update_) ? 2 : 4; }
  // The lower 16 bits of a part's main weights, where they are all that is stored of them; they lie
  // behind the moments.
  std::uint16_t* remainders(const Allocation& state, std::size_t place, const StatePart&) const;
  TensorFormats formats() const { return tensor_formats(plan_.workload.scenario.plan); }

  // Defined in cpu_host.cpp.
  bool updates_on_host() const { return plan_.workload.layout.host_optimizer; }
  void hold_on_host(DeviceState&, std::size_t place);
  void fill_host_weights();
  void work_with_host(const At&);
  void copy_gradients(const At&);
  void copy_weights(DeviceState&, std::size_t place, std::size_t layer, bool up);
  void update_on_host(const At&);

  // Defined in cpu_nvme.cpp.
  bool on_nvme() const { return plan_.workload.layout.nvme_optimizer; }
  // The bytes of a weight at the front of a layer's state: of the master copy, where there is one.
  std::size_t bytes_of_nvme_weight() const {
    return weight_update_ == WeightUpdate::Master
               ? sizeof(float)
               : static_cast<std::size_t>(bytes_of(plan_.workload.layout.precision.parameter));
  }
  Bytes in_file(const PlacedLayer&, std::int64_t bytes_before) const;
  std::span<std::byte> state_in_buffer(const DeviceState&, const PlacedLayer&) const;
  void move_state(const At&);
  std::vector<std::byte> read_nvme_weights(const DeviceState&, const PlacedLayer&) const;
  void write_nvme_weights(DeviceState&, const PlacedLayer&, std::int64_t index,
                          std::span<const std::byte>);

  // By stream, and behind the streams by device for what is done between repetitions: the groups
  // whose members are of several processes, by kind and first member.
  std::vector<std::map<std::pair<Group, int>, SharedGroup>> shared_;
  std::vector<std::uint32_t> stream_of_;  // by instruction, where there are several processes

  const RunPlan& plan_;
  const CpuOptions& options_;
  std::vector<JobState> jobs_;
  const Training& training_;  // the first job's; what it says beyond the rule is alike for all
  std::optional<DocumentStream> documents_;            // where samples are documents
  std::vector<std::unique_ptr<DeviceState>> devices_;  // by pipeline rank, then peer; null
                                                       // where it is of another process
  WeightUpdate weight_update_ = WeightUpdate::Direct;
  std::vector<std::int64_t> updates_of_;  // by place: number in one pass through the program
  WaveAverage average_;                   // of waves with weights of their own
  std::vector<UpdateRule> rules_;         // by place; empty for synchronous programs
  LossScaler scaler_;
  std::unique_ptr<const NarrowScaling> narrow_;  // of products in 8 or 4 bits
  std::unique_ptr<OperandScales> scales_;
  std::vector<std::size_t> first_scale_;  // by layer of the model
  bool scales_loss_ = false, together_ = false, has_partial_ = false;
  bool shares_statistics_ = false;  // core/plan/shared_statistics.h
  bool shares_norms_ = false;   // replicas share norms (core/methods/parallel/optimizer_norms.h)
  std::vector<int> finder_of_;  // the replica that finds a norm then, by index of the norm
  std::vector<std::vector<TiedTensor>> tied_;  // tensors that stages share: the owner first
  bool combines_ = false;                      // replicas combine their updates by Adasum
  std::int64_t mean_ranks_ = 1;                // so many neighbours take the mean of theirs
  Synchrony sync_;                             // of replicas
  // Replicas make updates of their own gradients.
  bool updates_apart() const { return combines_ || sync_.relaxed(); }
  Compression compression_;  // of the gradients that replicas exchange
  bool compresses() const { return compression_.how != Compress::None; }
  std::unique_ptr<OptimizerRule> plain_;  // dgc: the rule of tensors whose velocities were sent
  // Sums of squares of a layer's updates: of all that were combined, and of the combined one. Of
  // compressed gradients: of all that was added up, and of what was sent.
  struct Combined {
    double parts = 0, whole = 0;
  };
  std::vector<std::vector<Combined>> combined_;  // by place, then layer
  // Likewise of each rank's shard, by place, layer and peer, where gradients are compressed between
  // nodes.
  std::vector<std::vector<std::vector<Combined>>> of_shards_;
  std::vector<double> orthogonality_, energy_sent_;
  std::vector<std::int64_t> staleness_;
  double capacity_ = 0;                        // of experts: Routing::capacity
  std::int64_t updates_ = 0;                   // done so far
  std::int64_t first_update_ = 0;              // first update of this session
  std::int64_t first_sample_ = 0;              // consumed before this session
  std::vector<std::atomic<int>> losses_left_;  // asynchronous: number of missing losses, by step
  int repetition_ = 0;
  // Values that all updates share; the first update of a repetition computes them.
  std::mutex mutex_;
  bool prepared_ = false, skip_ = false;
  std::vector<std::vector<std::size_t>> norms_at_;  // by place and layer: index of its first norms
  std::vector<const PlacedParameter*> parameter_of_;  // by index of its norms
  // The data of a repetition, read before the ops that take them: all microbatches of a synchronous
  // step, and of an asynchronous run the next few of each peer.
  struct Staged {
    std::int32_t microbatch = -1;
    std::vector<std::byte> data;
  };
  // By job, operand, microbatch (modulo staged_microbatches_) and reader.
  std::vector<Staged> staged_;
  std::int32_t staged_microbatches_ = 0;
  std::vector<std::vector<std::size_t>> first_operand_;  // by place, then layer
  std::size_t operands_ = 0;
  Staged& staged(std::size_t operand, std::int32_t microbatch, int peer, std::size_t job);
  void stage(std::size_t place, std::size_t layer, std::int32_t microbatch, int peer);
  void stage_data();
  void fill(const LayerLayout&, TensorId, const TensorView&, std::int32_t microbatch, int peer,
            const DataSource&, void* into) const;
  void find_sizes();
  std::map<std::int64_t, std::vector<LayerSizes>> sizes_;  // by width of a sample, then by layout
  std::map<std::int64_t, std::int64_t> widths_;

  // Defined in cpu_tensor_state.cpp: state that the optimizer keeps by tensor, which lies behind
  // all other state of a place.
  void find_tensor_state();
  std::byte* tensor_state(const Allocation& held, std::ptrdiff_t behind, std::size_t norm,
                          std::size_t place, int peer) const;
  // Returns a peer's part of a parameter's main weights, where these have scales.
  ScaledNumbers scaled_main(const Allocation& held, std::ptrdiff_t behind, std::size_t place,
                            const PlacedLayer&, const PlacedParameter&, int peer) const;
  std::vector<DType> scaled_;  // formats of state that have scales
  struct TensorStateOfPeer {
    std::vector<std::int64_t> at;     // by index of the tensor's norms: bytes from the first
    std::vector<std::int64_t> bytes;  // by place: of all
  };
  std::vector<MatrixShape> shape_of_;            // by index of the tensor's norms
  std::vector<TensorStateOfPeer> tensor_state_;  // by peer; empty where none is kept by tensor
  MatrixProduct product_;                        // muon: the backend's own
  std::optional<Halp> halp_;                     // where it is the optimizer
  std::unique_ptr<FlipGuard> flips_;             // null where it has nothing to do
  std::map<FlipKey, FlipSight> sights_;          // of weights and state after the last update
};

}  // namespace trainyard
