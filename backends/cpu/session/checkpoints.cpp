// Implements what is saved of a run, and how it goes on from there.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/session/cpu_session.h"
#include "backends/start_weights.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {
namespace {

std::string part_name(std::string_view what, DeviceId device, int peer, std::size_t place,
                      std::size_t index) {
  return std::string(what) + " d" + std::to_string(device.value) + " peer " + std::to_string(peer) +
         " place " + std::to_string(place) + " " + std::to_string(index);
}

constexpr std::string_view kLargestValues = "largest values of operands";
constexpr std::string_view kConsumed = "consumed samples";

}  // namespace

std::optional<Checkpoint> checkpoint_to_resume(const CpuOptions& options) {
  if (!options.resume || options.checkpoint.empty()) return std::nullopt;
  const bool exists = std::filesystem::exists(options.checkpoint);
  if (options.processes == nullptr) {
    if (!exists) return std::nullopt;
    return load_checkpoint(options.checkpoint);
  }
  std::string found, wrong;
  if (options.processes->rank() == 0 && exists) try {
      found = to_bytes(load_checkpoint(options.checkpoint));
    } catch (const Error& error) {
      wrong = error.what();
    }
  found = options.processes->all_gather(found).front();
  wrong = options.processes->all_gather(wrong).front();
  if (!wrong.empty()) throw Error(Error::Kind::InvalidInput, wrong, {options.checkpoint});
  if (found.empty()) return std::nullopt;
  return parse_checkpoint(found, options.checkpoint);
}

// Calls f(name, allocation) for everything that is needed to resume a run and is held here. What
// is on NVMe comes as a copy, which goes back there where f may change it.
template <class F>
void CpuSession::each_state(bool changes, F&& f) {
  for (std::size_t at = 0; at < plan.places.size(); ++at)
    for (int peer = 0; peer < execution.peers(); ++peer) {
      const DeviceId device = plan.places[at].device;
      if (!execution.holds(device, peer)) continue;
      DeviceState& held = execution.state(device, peer);
      StageState& stage = held.stage(at);
      for (std::size_t i = 0; i < stage.weights.size(); ++i)
        f(part_name("weights", device, peer, at, i), stage.weights[i]);
      for (std::size_t i = 0; i < stage.optimizer.size(); ++i)
        f(part_name(
              execution.derives(at) ? "optimizer state with derived weights" : "optimizer state",
              device, peer, at, i),
          stage.optimizer[i]);
      std::size_t index = 0;
      for (std::vector<std::vector<float>>* list : {&stage.tiles, &stage.own_tiles})
        for (std::vector<float>& sizes : *list) {
          const std::span<std::byte> bytes = std::as_writable_bytes(std::span(sizes));
          Allocation lent{bytes.data(), Bytes{static_cast<std::int64_t>(bytes.size())}, {}, -1};
          f(part_name("largest sizes of tiles", device, peer, at, index++), lent);
        }
      std::vector<std::byte> state = execution.state_on_nvme(held, at);
      if (state.empty()) continue;
      Allocation copy{state.data(), Bytes{static_cast<std::int64_t>(state.size())}, {}, -1};
      f(part_name("optimizer state", device, peer, at, 0), copy);
      if (changes) execution.set_state_on_nvme(held, at, state);
    }
}

// Calls f(name, bytes) for what every batch norm that is held here remembers.
template <class F>
void CpuSession::each_statistics(F&& f) {
  for (std::size_t at = 0; at < plan.places.size(); ++at)
    for (int peer = 0; peer < execution.peers(); ++peer) {
      const DeviceId device = plan.places[at].device;
      if (!execution.holds(device, peer)) continue;
      std::size_t index = 0;
      for (auto& [norm, statistics] : execution.state(device, peer).stage(at).statistics)
        f(part_name("running statistics", device, peer, at, index++),
          std::as_writable_bytes(statistics.state()));
    }
}

void CpuSession::write_checkpoint() {
  if (options.checkpoint.empty()) return;
  execution.fetch_state();
  if (!first_process()) return;
  Checkpoint whole = state();
  for (CheckpointPart& part : weight_parts(workload.scenario.model, whole_parameters()))
    whole.parts.push_back(std::move(part));
  FlipGuard* const flips = execution.flips();
  if (flips == nullptr) return save(whole, options.checkpoint);
  write_file_atomically(options.checkpoint, kept_states.written(*flips, whole));
}

std::uint64_t CpuSession::program_of_checkpoints() const {
  return options.checkpoint_program != 0 ? options.checkpoint_program : digest(program);
}

std::vector<CheckpointSetting> CpuSession::settings() const {
  std::vector<CheckpointSetting> all = checkpoint_settings(training, data);
  all.push_back({std::string(kBatchRamp),
                 options.batch_ramp.empty() ? std::string(kNoBatchRamp) : options.batch_ramp});
  // State of two formats may take as many bytes, in another order.
  if (const Choice* const formats = find_choice(workload.scenario.plan, kTensorFormats))
    for (const ParamSpec& spec : method(kTensorFormats).params)
      all.push_back({std::string(spec.name) + "-dtype", formats->params.text(spec.name)});
  // Another round would begin in the middle of this one.
  if (trains_by_halp(workload.scenario.plan)) {
    const Halp halp = halp_of(workload.scenario.plan);
    all.push_back({"halp.bits", fmt::format("{}", halp.bits)});
    all.push_back({"halp.mu", fmt::format("{}", halp.mu)});
    all.push_back({"halp.inner", fmt::format("{}", halp.inner)});
    all.push_back({"halp.pass", fmt::format("{}", halp.pass)});
  }
  return all;
}

Checkpoint CpuSession::state() {
  Checkpoint c;
  c.program = program_of_checkpoints();
  c.scenario = workload.scenario.model.name + " on " + workload.scenario.cluster.name;
  c.step = execution.updates();
  c.seed = training.seed;
  c.scaler = execution.scaler().state();
  c.losses = losses;
  c.settings = settings();
  each_state(false, [&](std::string name, const Allocation& held) {
    if (held)
      c.parts.push_back({std::move(name), std::string(reinterpret_cast<const char*>(held.data),
                                                      static_cast<std::size_t>(held.bytes.value))});
  });
  each_statistics([&](std::string name, std::span<std::byte> held) {
    c.parts.push_back({std::move(name), {reinterpret_cast<const char*>(held.data()), held.size()}});
  });
  if (const OperandScales* scales = execution.scales())
    c.parts.push_back({std::string(kLargestValues), scales->state()});
  c.parts.push_back({std::string(kConsumed), std::to_string(execution.consumed())});
  return c;
}

// A checkpoint that does not say so is of a run whose steps were all of this batch.
std::int64_t CpuSession::consumed_before(const Checkpoint& c) const {
  for (const CheckpointPart& part : c.parts)
    if (part.name == kConsumed) return parse_integer(part.content, {options.checkpoint});
  return c.step * workload.scenario.plan.batch.global;
}

void CpuSession::resume(const Checkpoint& c) {
  expect_same(c, program_of_checkpoints(),
              workload.scenario.model.name + " on " + workload.scenario.cluster.name,
              options.checkpoint);
  expect_same_training(c, settings(), training.steps, options.checkpoint);
  std::map<std::string_view, const std::string*> parts;
  for (const CheckpointPart& part : c.parts) parts[part.name] = &part.content;
  each_state(true, [&](const std::string& name, Allocation& held) {
    if (!held) return;
    const auto part = parts.find(name);
    if (part == parts.end() || part->second->size() != static_cast<std::size_t>(held.bytes.value))
      throw Error(Error::Kind::InvalidInput,
                  "expected \"" + name + "\" of " + std::to_string(held.bytes.value) +
                      " bytes, found " +
                      (part == parts.end() ? std::string("none")
                                           : std::to_string(part->second->size()) + " bytes of it"),
                  {options.checkpoint});
    std::memcpy(held.data, part->second->data(), part->second->size());
  });
  // A checkpoint written before there were running statistics goes on from none.
  each_statistics([&](const std::string& name, std::span<std::byte> held) {
    const auto part = parts.find(name);
    if (part != parts.end() && part->second->size() == held.size())
      std::memcpy(held.data(), part->second->data(), held.size());
  });
  if (OperandScales* const scales = execution.scales()) {
    const auto part = parts.find(kLargestValues);
    if (part == parts.end() || !scales->restore(*part->second))
      throw Error(Error::Kind::InvalidInput,
                  "expected the largest values that the operands of products had in the last "
                  "steps, found none of this model",
                  {options.checkpoint});
  }
  execution.scaler().restore(c.scaler);
  execution.go_on(c.step, consumed_before(c));
  losses = c.losses;
  first_step = c.step;
}

}  // namespace trainyard
