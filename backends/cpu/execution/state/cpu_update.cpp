// Implements updates, from summed gradients to the next weights.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/execution/seen_by_rules.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/flush_subnormals.h"
#include "core/base/error.h"
#include "core/timeline/span_recorder.h"
#include "core/training/optimizers/delayed_update.h"

namespace trainyard {
namespace {

std::byte* element_of_size(std::byte* base, std::int64_t index, std::size_t each) {
  return base + static_cast<std::size_t>(index) * each;
}

}  // namespace

// Context ranks have parts of one sample's gradient, whose losses are means over their tokens.
int CpuExecution::averaged_replicas() const {
  const bool mean = reduce_of(plan_.workload.scenario.plan) == Reduce::Mean && !sync_.relaxed();
  return mean ? plan_.peers.dp : plan_.peers.cp;
}

StepFacts CpuExecution::step_facts(const StageState& stage, std::size_t set,
                                   std::size_t job) const {
  const std::int64_t count = stage.counts[std::min(set, stage.counts.size() - 1)];
  if (count == 0) refuse("there are no gradients to update the weights with");
  StepFacts facts;
  facts.t = updates_;
  facts.rate = rate_at(jobs_[job].training, facts.t);
  facts.gradient_scale = 1.0 / (static_cast<double>(count) * averaged_replicas());
  if (scales_loss_) facts.gradient_scale /= scaler_.scale();
  if (product_) facts.product = &product_;
  return facts;
}

// Where ranks of one group hold equal parts, the members are fewer than the group, whose channel
// they use.
void CpuExecution::sum_partial_gradient(std::size_t at, const std::vector<int>& members,
                                        std::int64_t first, std::int64_t elements) {
  const DeviceId device = plan_.places[at].device;
  const DType type = plan_.workload.layout.precision.gradient;
  const std::vector<int>& group = plan_.members(Group::Tensor, members.front());
  const Company company =
      this->company(plan_.program.streams.size() + device.value, Group::Tensor, group);
  const std::size_t bytes =
      static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_of(type));
  std::vector<const std::byte*> from(group.size(), nullptr);
  std::vector<std::size_t> sizes(group.size(), 0);
  std::vector<void*> outs;
  bool any = false;
  for (std::size_t r = 0; r < group.size(); ++r) {
    if (here(device, group[r])) any = true;
    if (std::find(members.begin(), members.end(), group[r]) == members.end()) continue;
    sizes[r] = bytes;
    if (!here(device, group[r])) continue;
    std::byte* const held = element_of_size(state(device, group[r]).stage(at).to_update()[0].data,
                                            first, static_cast<std::size_t>(bytes_of(type)));
    from[r] = held;
    outs.push_back(held);
  }
  if (!any) return;
  finish(spread(company, from, sizes,
                [&](std::span<const std::byte* const> all) -> TravelPtr {
                  std::vector<const void*> parts;
                  for (std::size_t r = 0; r < group.size(); ++r)
                    if (sizes[r] > 0) parts.push_back(all[r]);
                  sum_into(parts, outs, type, elements);
                  return nullptr;
                }),
         processes());
}

// The gradients are summed of which a rank has found only a share (partial_gradient.h).
void CpuExecution::sum_partial_gradients() {
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (int data = 0; data < plan_.peers.dp; ++data)
      for (const PlacedLayer& layer : place.layers) {
        for (const PlacedParameter& p : layer.parameters) {
          if (!p.partial || p.owner >= 0 || p.frozen) continue;
          const StatePart& part = layer.part_of(p);
          const DividedState& held = gradients_to_update(part);
          const PartRange own = held_range(part, held, data * plan_.peers.tp);
          const std::int64_t begin = std::max(p.offset, own.first),
                             end = std::min(p.offset + p.elements, own.first + own.count);
          if (begin >= end) continue;
          for (std::int64_t one = 0; one < p.parts; ++one) {
            std::vector<int> members;
            for (int t = 0; t < plan_.peers.tp; ++t)
              if (part_of_rank(p.parts, t, plan_.peers.tp) == one)
                members.push_back(data * plan_.peers.tp + t);
            sum_partial_gradient(at, members, held.at + begin - own.first, end - begin);
          }
        }
      }
  }
}

// Several ranks may hold the same gradients of a part of a parameter; the norm takes them from the
// first of these ranks only. Replicas that update apart each have gradients of their own.
bool CpuExecution::counts(std::size_t norm, int peer) const {
  const PlacedParameter& p = *parameter_of_[norm];
  const Peers& peers = plan_.peers;
  const Layout& layout = plan_.workload.layout;
  if (updates_apart()) return true;
  const bool first_replica = p.routed ? layout.expert_optimizer_shards > 1 ||
                                            plan_.members(Group::ExpertData, peer).front() == peer
                                      : peers.data_rank(peer) < layout.optimizer_shards;
  if (p.routed && peers.whole_experts) return first_replica;
  return first_replica &&
         (peers.tensor_rank(peer) == 0 || peers.part_of(p, peer) != peers.part_of(p, peer - 1));
}

std::size_t CpuExecution::parameters_of(std::size_t at) const {
  std::size_t count = 0;
  for (const PlacedLayer& layer : plan_.places[at].layers) count += layer.parameters.size();
  return count;
}

// Run by the first update of a repetition, when all gradients of all devices are complete.
void CpuExecution::prepare_updates() {
  if (prepared_) return;
  prepared_ = true;
  if (has_partial_) sum_partial_gradients();
  sum_tied_gradients();
  if (flips_ != nullptr) flip_all_gradients();
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    // One job that clips makes the updates of all wait, and not their norms needed.
    const bool asks = jobs_.size() == 1 || jobs_[job].training.clip > 0 || rule().needs_norms();
    if (jobs_[job].runs && asks) prepare_updates(job);
  }
}

// Finds how the job's gradients are clipped, and its norms: those of no other job count.
void CpuExecution::prepare_updates(std::size_t index) {
  JobState& job = jobs_[index];
  // Each device adds terms of its own; all terms are added up in one order, wherever they are from.
  std::vector<double> terms;
  const auto each_term = [&](auto&& f) {
    for (std::size_t at = 0; at < plan_.places.size(); ++at)
      for (int peer = 0; peer < plan_.peers.count(); ++peer) {
        const std::size_t first = terms.size();
        terms.resize(first + 2 * parameters_of(at));
        if (plan_.places[at].gradients > 0 && here(plan_.places[at].device, peer))
          f(at, peer, std::span(terms).subspan(first));
      }
    sum_over_processes(terms);
  };
  const auto second_copy = [&](std::size_t at) {
    return at > 0 && plan_.places[at - 1].stage == plan_.places[at].stage;
  };
  each_term([&](std::size_t at, int peer, std::span<double> into) {
    if (second_copy(at)) return;
    DeviceState& device = state(plan_.places[at].device, peer);
    const double scale = step_facts(device.stage(at), 0, index).gradient_scale;
    each_part(device, at, 0, index, [&](const ParameterPart& part, std::size_t norm) {
      if (!counts(norm, peer) || is_tied_copy(norm)) return;
      into[norm - first_norm(at)] =
          square_sum(part.gradients, part.gradient_type, part.elements) * scale * scale;
    });
  });
  std::vector<double> squares(updates_apart() ? static_cast<std::size_t>(plan_.peers.count()) : 1);
  for (std::size_t at = 0, term = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < plan_.peers.count(); ++peer)
      for (std::size_t i = 0; i < 2 * parameters_of(at); ++i)
        squares[static_cast<std::size_t>(peer) % squares.size()] += terms[term++];
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  job.gradient_norm = std::sqrt(sum / static_cast<double>(squares.size()));
  skip_ = scales_loss_ ? !scaler_.update(!std::isfinite(sum)) : false;
  // Replicas that compress by dgc have clipped before they added up.
  const double most = plain_ != nullptr ? 0 : job.training.clip;
  job.clips.clear();
  for (const double square : squares) {
    const double norm = std::sqrt(square);
    job.clips.push_back(most > 0 && norm > most ? most / norm : 1);
  }
  // Each replica that makes an update of its own finds its norms as it applies it.
  if (!job.rule->needs_norms() || skip_ || updates_apart()) return;
  terms.clear();
  each_term([&](std::size_t at, int peer, std::span<double> into) {
    DeviceState& device = state(plan_.places[at].device, peer);
    StepFacts facts = step_facts(device.stage(at), 0, index);
    facts.gradient_scale *= job.clip(peer);
    each_part(device, at, 0, index, [&](const ParameterPart& part, std::size_t norm) {
      const bool finds =
          shares_norms_ ? finder_of_[norm] == plan_.peers.data_rank(peer) : counts(norm, peer);
      if (!finds && !job.rule->norms_advance()) return;
      const TensorNorms found = job.rule->norms(part, facts);
      if (!finds) return;
      into[2 * (norm - first_norm(at))] = found.weights;
      into[2 * (norm - first_norm(at)) + 1] = found.direction;
    });
  });
  std::fill(job.norms.begin(), job.norms.end(), TensorNorms{});
  std::size_t term = 0;
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < plan_.peers.count(); ++peer)
      for (std::size_t i = 0; i < parameters_of(at); ++i) {
        job.norms[first_norm(at) + i].weights += terms[term++];
        job.norms[first_norm(at) + i].direction += terms[term++];
      }
}

PartRange CpuExecution::held_range(const StatePart& part, const DividedState& state,
                                   int peer) const {
  const std::int64_t rank = plan_.peers.shard_rank(part.routed, state.shards, peer),
                     first = std::min(part.elements, rank * state.share);
  return {part.first + first, std::min(state.share, part.elements - first)};
}

const DividedState& CpuExecution::gradients_to_update(const StatePart& part) const {
  return updates_on_host() ? part.optimizer : part.gradients;
}

void CpuExecution::prepare_together() {
  if (!together_) return;
  const std::scoped_lock lock(mutex_);
  prepare_updates();
}

// `stage_weights`: the set of which a part in 8 bits is one.
void CpuExecution::apply(ParameterPart& part, const StepFacts& facts, std::size_t norm,
                         std::size_t at, StageState& stage, std::byte* stage_weights,
                         std::size_t index) const {
  const JobState& job = jobs_[index];
  const RecordedSpan op(SpanLevel::Op, parameter_of_[norm]->name),
      kernel(SpanLevel::Kernel, plan_.workload.scenario.plan.optimizer);
  TensorNorms norms = job.norms[norm];
  if (compresses() && parameter_of_[norm]->matrix) {
    part.decays = part.decays && !decays_gradients();  // else replicas have added the decay
    if (plain_ != nullptr) {
      part.state = {};
      return plain_->apply(part, facts, norms);
    }
  }
  if (job.rule->needs_norms() && (!together_ || updates_apart()))
    norms = job.rule->norms(part, facts);
  if (parameter_of_[norm]->narrow)
    apply_narrow(part, facts, norms, norm, at, stage, stage_weights);
  else
    job.rule->apply(part, facts, norms);
}

void CpuExecution::update(const At& a) {
  const FlushSubnormals flush;  // the velocity of a weight without gradients fades to such numbers
  prepare_together();
  const StagePlacement& place = plan_.places[a.place];
  if (flips_ != nullptr && !together_ && place.gradients > 0) flip_gradients(a.place, a.peer);
  StageState& stage = a.device.stage(a.place);
  const std::size_t sets = stage.gradients.size();
  std::size_t set = 0;
  if (place.own_waves) {
    set = std::min(static_cast<std::size_t>(a.instruction.wave), sets - 1);
  } else {
    for (std::size_t other = 1; other < sets; ++other) {
      const void* parts[] = {stage.gradients[0].data, stage.gradients[other].data};
      void* out = stage.gradients[0].data;
      sum_into(parts, {&out, 1}, plan_.workload.layout.precision.gradient, place.gradients);
      stage.counts[0] += stage.counts[other];
      stage.counts[other] = 0;
      std::memset(stage.gradients[other].data, 0,
                  static_cast<std::size_t>(stage.gradients[other].bytes.value));
    }
  }
  std::int64_t& updates = stage.updates[std::min(set, stage.updates.size() - 1)];
  StageState::Older* const older = room_for_older(stage);
  std::byte* const beside = older != nullptr ? keep_older(a, *older) : nullptr;
  const bool combines = combines_ && place.gradients > 0;
  if (combines) keep_before(stage, a.place);
  if (!skip_ && place.gradients > 0) {
    std::byte* const weights = stage.weights[std::min(set, stage.weights.size() - 1)].data;
    each_job(a.device, [&](std::size_t job, std::ptrdiff_t) {
      StepFacts facts = step_facts(stage, set, job);
      if (plan_.asynchronous) {
        // Rates are scheduled by step, but a stage may update many times within one.
        facts.t = updates;
        const std::int64_t step = a.microbatch * std::int64_t{plan_.program.steps} /
                                  std::max<std::int64_t>(1, updates_of_[a.place]);
        facts.rate = rate_at(training_, updates_ + step);
      }
      const double unclipped = facts.gradient_scale;
      facts.gradient_scale *= jobs_[job].clip(a.peer);
      if (!rules_.empty()) correct(facts, rules_[a.place]);
      each_part(a.device, a.place, set, job, [&](ParameterPart& part, std::size_t norm) {
        if (beside != nullptr)
          part.updated = beside + (static_cast<std::byte*>(part.weights) - stage.weights[0].data);
        seen_by_rules(part, unclipped, norm, a.place, a.peer,
                      [&] { apply(part, facts, norm, a.place, stage, weights, job); });
      });
      move_patterns(a, set, job);
    });
  }
  if (combines) take_change(stage, a.place);
  if (beside != nullptr) a.device.exchange(stage.weights[0], older->weights);
  average_waves(a);
  if (place.gradients > 0)
    each_job(a.device, [&](std::size_t, std::ptrdiff_t behind) {
      std::memset(stage.gradients[set].data + behind, 0,
                  static_cast<std::size_t>(stage.gradients[set].bytes.value));
    });
  stage.counts[set] = 0;
  stage.version = a.instruction.weights;
  ++updates;
}

}  // namespace trainyard
