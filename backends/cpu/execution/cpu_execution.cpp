// Implements the start of a run and the work between its repetitions.
#include "backends/cpu/execution/cpu_execution.h"

#include "backends/documents.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/convert.h"
#include "backends/initial_weights.h"
#include "core/base/error.h"
#include "core/methods/parallel/optimizer_norms.h"
#include "core/model/divided_rows.h"
#include "core/model/open_sizes.h"
#include "core/plan/shared_statistics.h"
#include "core/training/optimizers/formatted_rule.h"

namespace trainyard {
namespace {

// The number of updates of the stage in one pass through the program.
std::int64_t count_updates(const RunPlan& plan, const StagePlacement& place) {
  std::int64_t most = 0;
  for (const Instruction& in : plan.program.instructions) {
    const Task& task = plan.program.task(in);
    if (task.kind == TaskKind::Compute && task.phase == Phase::Update && task.stage == place.stage)
      most = std::max<std::int64_t>(most, std::int64_t{in.microbatch} + 1);
  }
  return most;
}

// A device that has some rows of images asks for whole ones, which sources draw, and takes its own.
template <class Ask>
void ask_for_rows(std::int64_t rows, const TensorView& own, int rank, const Ask& ask,
                  std::byte* into) {
  std::array<std::int64_t, kMostDims> shape = own.size;
  shape[2] = rows;
  const std::int64_t planes = own.size[0] * own.size[1], part = own.size[2] * own.size[3],
                     plane = rows * own.size[3];
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * bytes_of(own.type));
  };
  std::vector<std::byte> images(bytes(planes * plane));
  ask(std::span<const std::int64_t>(shape.data(), 4), 0, planes * plane, images.data());
  for (std::int64_t p = 0; p < planes; ++p)
    std::memcpy(into + bytes(p * part), images.data() + bytes(p * plane + rank * part),
                bytes(part));
}

}  // namespace

CpuExecution::CpuExecution(const RunPlan& plan, const CpuOptions& options,
                           std::span<const TrainedJob> jobs)
    : plan_(plan),
      options_(options),
      training_(*jobs.front().training),
      documents_(document_stream(plan.workload, seed_of(training_, RandomSource::Order))),
      weight_update_(weight_update_of(plan.workload.scenario.plan, plan.workload.layout.precision)),
      scaler_(training_) {
  if (training_.flips.on()) flips_ = std::make_unique<FlipGuard>(training_);
  if (trains_by_halp(plan.workload.scenario.plan)) halp_ = halp_of(plan.workload.scenario.plan);
  const auto same_data = [&](const TrainedJob& a) {
    return std::find_if(jobs.begin(), jobs.end(),
                        [&](const TrainedJob& b) { return b.data == a.data; }) -
           jobs.begin();
  };
  for (const TrainedJob& job : jobs)
    jobs_.push_back({*job.training, *job.data, static_cast<std::size_t>(same_data(job)),
                     formatted_rule(formats(), optimizer_rule(plan.workload.scenario.plan.optimizer,
                                                              *job.training, weight_update_,
                                                              halp_.value_or(Halp{})))});
  if (const Choice* chosen = find_choice(plan.workload.scenario.plan, "expert-parallel"))
    if (chosen->params.has("capacity")) capacity_ = chosen->params.number("capacity");
  scales_loss_ = plan.workload.layout.precision.activation == DType::F16;
  const bool divided =
      plan.workload.layout.optimizer_shards > 1 || std::max(plan.peers.tp, plan.peers.ep) > 1;
  const auto samples = static_cast<std::size_t>(plan.program.microbatches) *
                       static_cast<std::size_t>(plan.program.steps) *
                       static_cast<std::size_t>(plan.peers.replicas());
  for (JobState& job : jobs_)
    job.part_losses.assign(samples * static_cast<std::size_t>(plan.peers.cp), 0);
  if (plan.asynchronous)
    losses_left_ = std::vector<std::atomic<int>>(static_cast<std::size_t>(plan.program.steps));
  std::size_t norms = 0, operands = 0;
  for (const StagePlacement& place : plan.places) {
    norms_at_.emplace_back();
    first_operand_.emplace_back();
    int layers = 0;
    for (const PlacedLayer& layer : place.layers) {
      const int finder = layers++ % plan.peers.dp;
      norms_at_.back().push_back(norms);
      norms += layer.parameters.size();
      for (const PlacedParameter& p : layer.parameters) {
        parameter_of_.push_back(&p);
        finder_of_.push_back(finder);
        has_partial_ |= p.partial && !p.frozen;
      }
      first_operand_.back().push_back(operands);
      operands += plan.layouts[static_cast<std::size_t>(layer.layout)].data.size();
    }
  }
  bool clips = false;
  for (JobState& job : jobs_) {
    job.norms.resize(norms);
    clips |= job.training.clip > 0;
  }
  operands_ = operands;
  for (const StagePlacement& place : plan.places) updates_of_.push_back(count_updates(plan, place));
  find_tied();
  together_ = !plan.asynchronous && (clips || scales_loss_ || has_partial_ || !tied_.empty() ||
                                     (rule().needs_norms() && divided));
  const Plan& how = plan.workload.scenario.plan;
  combines_ = combines_updates(how);
  shares_statistics_ = shares_statistics(how);
  shares_norms_ = shares_norms(how) && !plan.asynchronous;
  together_ = together_ || shares_norms_;
  compression_ = compression_of(how);
  sync_ = synchrony_of(how);
  if (combines_) mean_ranks_ = mean_ranks(how, plan.workload.scenario.cluster);
  if (compression_.how == Compress::Dgc) plain_ = optimizer_rule("sgd", training_, weight_update_);
  for (const StagePlacement& place : plan.places) {
    combined_.emplace_back(place.layers.size());
    of_shards_.emplace_back(place.layers.size(),
                            std::vector<Combined>(static_cast<std::size_t>(peers())));
  }
  find_rules();
  find_narrow();
  find_groups();
  find_tensor_state();
  make_state();
}

void CpuExecution::make_state() {
  const Program& p = plan_.program;
  devices_.resize(static_cast<std::size_t>(p.devices) * static_cast<std::size_t>(peers()));
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d)
    for (int peer = 0; peer < peers(); ++peer) {
      if (!here(DeviceId{d}, peer)) continue;
      begin_device(DeviceId{d}, peer);
      for (std::size_t at = 0; at < plan_.places.size(); ++at)
        for (std::size_t job = 0; job < jobs_.size() && plan_.places[at].device.value == d; ++job)
          fill_weights(*devices_[index(DeviceId{d}, peer)], at, job);
    }
}

// Makes a device whose state is all 0.
void CpuExecution::begin_device(DeviceId id, int peer) {
  const Bytes device_memory = plan_.workload.scenario.cluster.device.memory.value;
  const Bytes limit = options_.memory_limit.value > 0 ? options_.memory_limit : device_memory;
  std::unique_ptr<DeviceState>& device = devices_[index(id, peer)];
  device.reset();
  device = std::make_unique<DeviceState>(plan_, id, peer, limit, static_cast<int>(jobs_.size()));
  device->arena().poison(options_.poison);
  device->host().poison(options_.poison);
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    if (plan_.places[at].device == id) hold_state(*device, at);
}

void CpuExecution::hold_state(DeviceState& device, std::size_t at) {
  const StagePlacement& place = plan_.places[at];
  StageState& stage = device.stage(at);
  const auto hold = [&](const std::vector<BufferId>& ids, std::vector<Allocation>& into) {
    for (BufferId id : ids) {
      const Allocation& held = into.emplace_back(device.arena().allocate(id, -1));
      if (held)
        device.each_job([&](std::ptrdiff_t job) {
          std::memset(held.data + job, 0, static_cast<std::size_t>(held.bytes.value));
        });
    }
    if (into.empty()) into.emplace_back();
  };
  hold(place.weight_sets, stage.weights);
  hold(place.gradient_sets, stage.gradients);
  hold(place.optimizer_sets, stage.optimizer);
  for (BufferId id : place.gathered_sets) stage.gathered = device.arena().allocate(id, -1);
  for (BufferId id : place.other) {
    const Allocation held = device.arena().allocate(id, -1);
    if (plan_.program.buffers[id.value].holds == Holds::OlderWeights)
      stage.older.push_back({held, -1});
    else
      stage.other.push_back(held);
  }
  if (updates_on_host()) hold_on_host(device, at);
  hold_statistics(stage, place);
  hold_tiles(stage, place);
  stage.counts.assign(stage.gradients.size(), 0);
  stage.updates.assign(stage.optimizer.size(), 0);
}

// Fills the initial weights; tied tensors of another stage start equal to the tensors they are tied
// to.
void CpuExecution::fill_weights(DeviceState& device, std::size_t at, std::size_t job) {
  const StagePlacement& place = plan_.places[at];
  const Model& model = plan_.workload.scenario.model;
  for (std::size_t l = 0; l < place.layers.size(); ++l) {
    const PlacedLayer& layer = place.layers[l];
    for (const PlacedParameter& p : layer.parameters) {
      if (p.owner >= 0) continue;
      int number = layer.model_layer;
      TensorId tensor = p.tensor;
      std::vector<std::int64_t> shape = p.whole_shape;
      const Graph* graph = plan_.layouts[static_cast<std::size_t>(layer.layout)].graph;
      if (!p.tied_to.empty()) {
        int first = 0;
        for (const Block& block : model.blocks) {
          for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t)
            if (block.name + "/" + block.graph.tensors[t].name == p.tied_to) {
              number = first;
              tensor = {t};
              graph = &block.graph;
            }
          first += block.count;
        }
        if (p.transposed) std::swap(shape[0], shape[1]);
      }
      std::vector<float> whole =
          initial_weights(*graph, tensor, shape, number, jobs_[job].training);
      if (p.transposed && !p.tied_to.empty()) whole = transposed(whole, shape[0], shape[1]);
      set_parameter(device, at, l, p, whole, job);
    }
  }
}

// --- between repetitions ---

void CpuExecution::begin_repetition(int repetition) {
  repetition_ = repetition;
  if (repetition == 0) {
    gather_all();
    if (updates_on_host()) fill_host_weights();
  }
  prepared_ = false;
  skip_ = false;
  for (JobState& job : jobs_) job.clips.assign(1, 1);
  for (std::atomic<int>& left : losses_left_) left = plan_.program.microbatches * plan_.peers.cp;
  if (processes() != nullptr)
    for (JobState& job : jobs_) std::fill(job.part_losses.begin(), job.part_losses.end(), 0);
  // Versions count from 0 in every pass.
  for (std::unique_ptr<DeviceState>& device : devices_)
    for (std::size_t at = 0; device != nullptr && at < plan_.places.size(); ++at) {
      StageState& stage = device->stage(at);
      stage.version = 0;
      stage.reads_left = plan_.places[at].reads;
      for (StageState::Older& older : stage.older) older.version = -1;
    }
  find_sizes();
  stage_data();
}

void CpuExecution::end_loss(const At& a, float loss, std::size_t job) {
  const Peers& peers = plan_.peers;
  if (peers.tensor_rank(a.peer) != 0) return;
  jobs_[job].part_losses[static_cast<std::size_t>(
      sample(a.microbatch, peers.replica(a.peer)) * peers.cp + peers.context_rank(a.peer))] = loss;
  if (!plan_.asynchronous || !step_done || peers.replica(a.peer) != 0) return;
  // Waves do not run in step: the last microbatch of a step need not be the last to have its loss.
  const int step = a.microbatch / plan_.program.microbatches;
  if (losses_left_[static_cast<std::size_t>(step)].fetch_sub(1) == 1) step_done(step);
}

// The ranks that divide a sequence have equally many of its tokens.
double CpuExecution::loss(std::size_t microbatch, std::size_t job) const {
  const auto ranks = static_cast<std::size_t>(plan_.peers.cp);
  double sum = 0;
  for (std::size_t r = 0; r < ranks; ++r) sum += jobs_[job].part_losses[microbatch * ranks + r];
  return sum / static_cast<double>(ranks);
}

std::vector<double> CpuExecution::losses() const {
  std::vector<double> all(jobs_.front().part_losses.size() /
                          static_cast<std::size_t>(plan_.peers.cp));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = loss(i);
  return all;
}

// An asynchronous run has no moment at which all stages have ended a step: its tensors are scaled
// by their own largest values.
void CpuExecution::end_repetition(int) {
  if (processes() != nullptr) {
    // A process whose stages have no parameters has not been asked for what updates share.
    if (together_) prepare_updates();
    for (JobState& job : jobs_) processes()->sum(job.part_losses);
    if (scales_ != nullptr) scales_->see_all(*processes());
  }
  find_ratios();
  updates_ += plan_.asynchronous ? plan_.program.steps : 1;
  count_staleness();
  for (std::unique_ptr<DeviceState>& device : devices_)
    for (std::size_t at = 0; device != nullptr && at < plan_.places.size(); ++at)
      for (auto& [norm, statistics] : device->stage(at).statistics) statistics.end_repetition();
  // A device that updates counts from 0 itself; where its host updates, this is done here.
  for (std::unique_ptr<DeviceState>& device : devices_)
    for (std::size_t at = 0; updates_on_host() && device && at < plan_.places.size(); ++at)
      std::fill(device->stage(at).counts.begin(), device->stage(at).counts.end(), 0);
  if (scales_ != nullptr && !plan_.asynchronous) scales_->end_step();
}

// Peers of a synchronous step share what their data rank reads; those of an asynchronous run are
// not in step.
CpuExecution::Staged& CpuExecution::staged(std::size_t operand, std::int32_t microbatch, int peer,
                                           std::size_t job) {
  const int readers = plan_.asynchronous ? plan_.peers.count() : plan_.peers.dp,
            reader = plan_.asynchronous ? peer : plan_.peers.data_rank(peer);
  return staged_[((jobs_[job].reads_as * operands_ + operand) *
                      static_cast<std::size_t>(staged_microbatches_) +
                  static_cast<std::size_t>(microbatch % staged_microbatches_)) *
                     static_cast<std::size_t>(readers) +
                 static_cast<std::size_t>(reader)];
}

// Reads what a layer takes of the data for a microbatch, unless another peer has.
void CpuExecution::stage(std::size_t at, std::size_t l, std::int32_t microbatch, int peer) {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  for (std::size_t i = 0; i < layout.data.size(); ++i) {
    const TensorId tensor = layout.data[i].first;
    if (tensor == layout.graph->input && layer.model_layer > 0) continue;
    const DeviceState& device = state(plan_.places[at].device, peer);
    const TensorView& view = device.sizes(at, l, microbatch).local[tensor.value];
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (!jobs_[job].runs) continue;
      Staged& into = staged(first_operand_[at][l] + i, microbatch, peer, job);
      if (std::exchange(into.microbatch, microbatch) == microbatch) continue;
      into.data.resize(static_cast<std::size_t>(view.bytes().value));
      fill(layout, tensor, view, microbatch, peer, jobs_[job].source, into.data.data());
    }
  }
}

void CpuExecution::stage_data() {
  constexpr std::int32_t kAhead = 8;  // all data of an asynchronous run could be the whole data set
  const std::int32_t all = plan_.program.microbatches * plan_.program.steps;
  staged_microbatches_ = plan_.asynchronous ? std::min(all, kAhead) : all;
  staged_.resize(jobs_.size() * operands_ * static_cast<std::size_t>(staged_microbatches_) *
                 static_cast<std::size_t>(plan_.peers.count()));
  for (Staged& one : staged_) one.microbatch = -1;
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (std::size_t l = 0; l < plan_.places[at].layers.size(); ++l)
      for (std::int32_t microbatch = 0; microbatch < staged_microbatches_; ++microbatch)
        for (int peer = 0; peer < plan_.peers.count(); ++peer)
          if (here(plan_.places[at].device, peer)) stage(at, l, microbatch, peer);
}

// Includes the samples of earlier sessions.
std::int64_t CpuExecution::samples_before() const {
  const std::int64_t steps = std::int64_t{repetition_} * plan_.program.steps;
  return first_sample_ / plan_.workload.scenario.plan.batch.micro +
         steps * plan_.program.microbatches * plan_.peers.replicas();
}

std::int64_t CpuExecution::first_sample(std::int32_t microbatch, int peer) const {
  return (samples_before() + sample(microbatch, plan_.peers.replica(peer))) *
         plan_.workload.scenario.plan.batch.micro;
}

// Microbatches that are as wide as their longest document have sizes of their own, which are found
// once a width. The program and its buffers are of whole sequences.
void CpuExecution::find_sizes() {
  if (!documents_ || !documents_->plan().open) return;
  const Workload& w = plan_.workload;
  const auto sizes_at = [&](std::int64_t width) -> const std::vector<LayerSizes>& {
    std::vector<LayerSizes>& found = sizes_[width];
    if (found.empty())
      for (const LayerLayout& layout : plan_.layouts)
        found.push_back(
            layer_sizes(*layout.graph, at_width(layout.body->binding, width), w.layout.precision));
    return found;
  };
  const std::int64_t micro = w.scenario.plan.batch.micro;
  const std::int32_t all = plan_.program.microbatches * plan_.program.steps;
  for (std::unique_ptr<DeviceState>& device : devices_)
    for (std::int32_t m = 0; device != nullptr && m < all; ++m)
      device->set_sizes(m, sizes_at(documents_->width(first_sample(m, device->peer()), micro)));
  for (std::int32_t m = 0; m < all; ++m)
    for (int replica = 0; replica < plan_.peers.replicas(); ++replica)
      ++widths_[documents_->width((samples_before() + sample(m, replica)) * micro, micro)];
}

std::optional<RunWidths> CpuExecution::widths() const {
  if (widths_.empty()) return std::nullopt;
  double tokens = 0, microbatches = 0;
  for (const auto& [width, count] : widths_) {
    tokens += static_cast<double>(width) * static_cast<double>(count);
    microbatches += static_cast<double>(count);
  }
  const auto sequence = static_cast<double>(plan_.workload.scenario.plan.batch.sequence);
  return RunWidths{static_cast<std::int64_t>(widths_.size()), widths_.begin()->first,
                   widths_.rbegin()->first, tokens / microbatches / sequence};
}

// A device that has a part of the sequence asks for each stretch of it.
void CpuExecution::fill(const LayerLayout& layout, TensorId tensor, const TensorView& view,
                        std::int32_t microbatch, int peer, const DataSource& source,
                        void* into) const {
  const auto ask = [&](std::span<const std::int64_t> shape, std::int64_t first_token,
                       std::int64_t elements, std::byte* to) {
    const DataRequest request{plan_.workload.scenario.model,  *layout.graph, tensor,     shape,
                              first_sample(microbatch, peer), false,         first_token};
    const auto n = static_cast<std::size_t>(elements);
    if (view.type == DType::I64) {
      source.fill(request, std::span(reinterpret_cast<std::int64_t*>(to), n));
    } else if (view.type == DType::F32) {
      source.fill(request, std::span(reinterpret_cast<float*>(to), n));
    } else {
      std::vector<float> numbers(n);
      source.fill(request, std::span(numbers));
      from_floats(numbers.data(), to, view.type, elements);
    }
  };
  auto* const first = static_cast<std::byte*>(into);
  std::array<std::int64_t, kMostDims> shape = view.size;
  const std::span<const std::int64_t> dims(shape.data(), static_cast<std::size_t>(view.rank));
  const Shape& whole = (*layout.graph)[tensor].shape;
  if (has_part_of_rows((*layout.graph)[tensor], layout.body->binding))
    return ask_for_rows(whole[2].size, view, plan_.peers.context_rank(peer), ask, first);
  const Dim* const leading = dims.empty() ? nullptr : whole.data();
  if (leading == nullptr || parts(*leading, layout.body->binding) == 1)
    return ask(dims, 0, view.elements(), first);
  const std::int64_t row = view.elements() / view.size[0];
  plan_.sequence_ranks(*layout.body, peer)
      .part()
      .each_stretch(view.size[0], 0, view.size[0],
                    [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                      shape[0] = count;
                      ask(dims, position, count * row, first + i * row * bytes_of(view.type));
                    });
}

}  // namespace trainyard
