// One run of a ReferenceSchedule: the state of all its stages, and what each step does to it.
#pragma once

#include <memory>
#include <vector>

#include "backends/reference/layer_state.h"
#include "backends/reference/reference_run.h"
#include "backends/reference/schedule.h"

namespace trainyard {

class ReferenceExecution {
 public:
  ReferenceExecution(const ReferenceSchedule&, const ReferenceOptions&);
  ReferenceRun run();

 private:
  /// A layer hands these on: forward its output and the side input, backward the gradients of its
  /// input and of the side input.
  struct Activations {
    Value main, side;
  };
  struct Gradients {
    HostTensor main, side;
  };
  /// One microbatch of one replica on one place.
  struct Flight {
    std::vector<LayerState> layers;
    Activations input, output;  // what arrived, what is to be passed on
    Gradients arrived, passed;
    bool gradient_arrived = false, gradient_ready = false;
    int version = 0;              // of the weights that its forward read
    std::size_t layers_left = 0;  // whose backward is not done
  };
  /// Gradients of one wave.
  struct Accumulators {
    std::vector<GradientSums> replicas;
    GradientSums reduced;
  };
  struct PlaceState {
    std::vector<Accumulators> waves;
    std::vector<WeightVersions> weights;  // by set
    std::vector<std::int32_t> flights;    // by microbatch: index of its first; -1 = none
    std::vector<std::int32_t> spare;
    std::vector<std::vector<Flight>> pool;  // by index, then replica
  };

  void make_place(const StagePlace&);
  HostTensor initial(const StagePlace&, const StageParameter&) const;
  void execute(const Step&);

  void forward(const Step&, bool again);
  void end_forward(const Step&, Flight&, int replica, const LayerContext&);
  void backward(const Step&);
  void pass_gradient(const Step&, Flight&, const LayerContext&);
  void finish_layer(const Step&, Flight&, int replica);
  void receive(const Step&);
  void update(const Step&);
  void move_patterns(const StagePlace&, std::int64_t updates, std::vector<ParameterState>&) const;
  WeightVersions& weights(const Step& step) {
    return places_[step.place].weights[s_.places[step.place].set_of(step.wave)];
  }
  void reduce_replicas(const Step&);
  void reduce_shards(const Step&);
  std::vector<Accumulators*> reduced_by(const Step&);
  void reduce_copies(const Step&);

  Activations take_output(std::int32_t place, const Step&, int replica);
  Gradients take_gradient(std::int32_t place, const Step&, int replica);
  /// The flight of the step's microbatch; made where it is not there yet.
  Flight& flight(std::uint32_t place, std::int32_t microbatch, int replica);
  bool has_flight(std::uint32_t place, std::int32_t microbatch) const;
  void let_go(std::uint32_t place, std::int32_t microbatch);
  const LayerPlan& plan(const Step&) const;
  /// As the data count it: replicas of a step one after the other.
  std::int64_t sample(std::int32_t microbatch, int replica) const;
  // Returns whether the anchor of HALP reads the microbatch.
  bool reads_anchor(std::int32_t microbatch) const;
  Value data(const LayerPlan&, TensorId, std::int64_t microbatch) const;
  template <class F>
  void with_context_of(const Step&, int replica, std::span<const HostTensor* const> parameters,
                       F&&);
  void collect(ReferenceRun&) const;

  const ReferenceSchedule& s_;
  const ReferenceOptions& options_;
  std::vector<PlaceState> places_;
  ReferenceRun run_;
};

}  // namespace trainyard
