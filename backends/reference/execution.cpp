// What a run begins with, where things are, and what it leaves.
#include "backends/reference/execution.h"

#include <algorithm>

#include "backends/reference/random_inputs.h"
#include "core/base/error.h"

namespace trainyard {

ReferenceExecution::ReferenceExecution(const ReferenceSchedule& schedule,
                                       const ReferenceOptions& options)
    : s_(schedule), options_(options) {
  const std::size_t stages = s_.workload.runs.size();
  if (options.rules.size() != 1 && options.rules.size() != stages)
    throw Error(Error::Kind::InvalidInput, "expected one update rule, or one for each of the " +
                                               std::to_string(stages) + " stages, found " +
                                               std::to_string(options.rules.size()));
  const auto count = static_cast<std::size_t>(s_.program.microbatches) *
                     static_cast<std::size_t>(s_.program.steps);
  run_.losses.assign(count * static_cast<std::size_t>(s_.replicas), 0.0);
  places_.reserve(s_.places.size());
  for (const StagePlace& place : s_.places) make_place(place);
}

HostTensor ReferenceExecution::initial(const StagePlace& place, const StageParameter& p) const {
  if (p.shares >= 0) return {};
  ReferenceParameter made{place.model_layers[p.layer], p.name, zeros(p.shape)};
  const auto stream = (static_cast<std::uint64_t>(made.layer) << 16) + p.tensor.value;
  const Graph& graph = s_.workload.scenario.model.blocks[static_cast<std::size_t>(p.block)].graph;
  if (const auto sparse = sparse_weight_of(graph, p.tensor);
      sparse && sparse->pattern == p.tensor) {
    const std::vector<float> pattern = first_pattern(*sparse, options_.weight_seed, made.layer);
    made.weights.values.assign(pattern.begin(), pattern.end());
  } else {
    random_weights(made.weights, p.name, Random(options_.seed, stream));
  }
  if (options_.weights) options_.weights(made);
  return std::move(made.weights);
}

void ReferenceExecution::make_place(const StagePlace& place) {
  const UpdateRule& rule =
      options_.rules.size() == 1 ? options_.rules[0] : options_.rules[place.stage.value];
  std::vector<HostTensor> weights;
  for (const StageParameter& p : place.parameters) weights.push_back(initial(place, p));
  PlaceState state;
  for (const std::vector<std::int32_t>& reads : place.reads) {
    state.weights.emplace_back(place.parameters, place.tensors, weights, rule, reads);
    if (options_.optimizer) state.weights.back().update_by(options_.optimizer(place.parameters));
  }
  for (int wave = 0; wave < place.waves; ++wave) {
    Accumulators sums{{}, gradient_sums(place.parameters)};
    sums.replicas.assign(static_cast<std::size_t>(s_.replicas), sums.reduced);
    state.waves.push_back(std::move(sums));
  }
  state.flights.assign(run_.losses.size() / static_cast<std::size_t>(s_.replicas), -1);
  places_.push_back(std::move(state));
}

ReferenceRun ReferenceExecution::run() {
  std::size_t done = 0;
  for (const Step& step : s_.steps) {
    if (++done % 1024 == 0 && options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the run was stopped");
    try {
      execute(step);
    } catch (Error& error) {
      error.add_context("executing " + describe(s_.program, step.instruction));
      throw;
    }
  }
  collect(run_);
  return std::move(run_);
}

void ReferenceExecution::collect(ReferenceRun& run) const {
  const auto per_step =
      static_cast<std::size_t>(s_.program.microbatches) * static_cast<std::size_t>(s_.replicas);
  for (std::size_t first = 0; first < run.losses.size(); first += per_step) {
    double sum = 0;
    for (std::size_t i = first; i < first + per_step; ++i) sum += run.losses[i];
    run.step_losses.push_back(sum / static_cast<double>(per_step));
  }
  for (std::size_t at = 0; at < places_.size(); ++at) {
    int versions = 0;
    for (const WeightVersions& set : places_[at].weights) versions += set.most();
    run.versions.push_back(versions);
    // Waves with weights of their own train one model, which is their mean.
    const std::vector<StageParameter>& parameters = s_.places[at].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].shares < 0)
        run.parameters.push_back(
            {parameters[i].model_layer, parameters[i].name,
             HostTensor{parameters[i].shape, mean_weights(places_[at].weights, i)}});
  }
  std::stable_sort(run.parameters.begin(), run.parameters.end(),
                   [](const auto& a, const auto& b) { return a.layer < b.layer; });
}

void ReferenceExecution::execute(const Step& step) {
  switch (step.kind) {
    case StepKind::Forward:
      return forward(step, false);
    case StepKind::Recompute:
      return forward(step, true);
    case StepKind::Backward:
      return backward(step);
    case StepKind::Update:
      return update(step);
    case StepKind::Receive:
      return receive(step);
    case StepKind::ReduceReplicas:
      return reduce_replicas(step);
    case StepKind::ReduceShards:
      return reduce_shards(step);
    case StepKind::ReduceCopies:
      return reduce_copies(step);
  }
}

// --- where things are ---

std::int64_t ReferenceExecution::sample(std::int32_t microbatch, int replica) const {
  const std::int64_t m = s_.program.microbatches;
  return (microbatch / m * s_.replicas + replica) * m + microbatch % m;
}

Value ReferenceExecution::data(const LayerPlan& plan, TensorId tensor,
                               std::int64_t microbatch) const {
  const ReferenceInput in{*plan.graph, tensor,
                          local_shape((*plan.graph)[tensor], s_.workload.layout.binding),
                          microbatch};
  return std::make_shared<HostTensor>(options_.data ? options_.data(in)
                                                    : random_data(in, options_.seed));
}

const LayerPlan& ReferenceExecution::plan(const Step& step) const {
  return s_.plans[static_cast<std::size_t>(
      s_.places[step.place].plans[static_cast<std::size_t>(step.layer)])];
}

bool ReferenceExecution::has_flight(std::uint32_t place, std::int32_t microbatch) const {
  return places_[place].flights[static_cast<std::size_t>(microbatch)] >= 0;
}

ReferenceExecution::Flight& ReferenceExecution::flight(std::uint32_t place, std::int32_t microbatch,
                                                       int replica) {
  PlaceState& state = places_[place];
  std::int32_t& index = state.flights[static_cast<std::size_t>(microbatch)];
  if (index < 0) {
    if (state.spare.empty()) {
      state.spare.push_back(static_cast<std::int32_t>(state.pool.size()));
      state.pool.emplace_back(static_cast<std::size_t>(s_.replicas));
    }
    index = state.spare.back();
    state.spare.pop_back();
    for (Flight& f : state.pool[static_cast<std::size_t>(index)]) {
      f.layers.resize(s_.places[place].plans.size());
      f.layers_left = f.layers.size();
    }
  }
  return state.pool[static_cast<std::size_t>(index)][static_cast<std::size_t>(replica)];
}

// Once no replica has anything left to do or to pass on.
void ReferenceExecution::let_go(std::uint32_t place, std::int32_t microbatch) {
  PlaceState& state = places_[place];
  std::int32_t& index = state.flights[static_cast<std::size_t>(microbatch)];
  std::vector<Flight>& flights = state.pool[static_cast<std::size_t>(index)];
  for (const Flight& f : flights)
    if (f.layers_left > 0 || f.gradient_ready || f.output.main != nullptr) return;
  for (Flight& f : flights) f.input = {}, f.gradient_arrived = false;
  state.spare.push_back(index);
  index = -1;
}

}  // namespace trainyard
