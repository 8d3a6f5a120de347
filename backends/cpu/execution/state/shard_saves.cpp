#include "backends/cpu/execution/state/shard_saves.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/convert.h"
#include "backends/executable.h"
#include "core/base/packed.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/precision/tensor_state.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/model/trained_tables.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {

std::vector<ShardSaves::Table> ShardSaves::tables_of(const Model& model) {
  std::vector<Table> found;
  int layer = 0;
  for (const Block& block : model.blocks) {
    for (const Node& node : block.graph.nodes)
      if (node.op == &embedding() && attribute(node, "lookups") > 0)
        found.push_back({layer, &block.graph, node.inputs[0], node.inputs[1],
                         block.graph[node.inputs[1]].shape[1].size});
    layer += block.count;
  }
  return found;
}

void check_recovery(const BackendJob& job, Diagnostics& found) {
  const PartialRecovery& recovery = job.training->recovery;
  if (!recovery.on()) return;
  const Workload& w = job.workload;
  const Plan& plan = w.scenario.plan;
  const Binding& b = w.layout.binding;
  const auto refuse = [&](const std::string& sentence, std::string place, std::string fix) {
    add_error(found, "cpr=" + std::string(to_string(recovery.how)) + " " + sentence,
              std::move(place), std::move(fix));
  };
  if (ShardSaves::tables_of(w.scenario.model).empty())
    return refuse("takes back shards of a recommender's embedding tables, which " +
                      w.scenario.model.name + " does not have",
                  "--train cpr", "--train cpr=off");
  if (has_updates(order(w, schedule_shape(w))))
    refuse("saves between steps that all ranks end together, found an asynchronous schedule",
           "plan#/choices", "schedule=1f1b");
  const int ranks = static_cast<int>(job.program.replicas);
  if (b.tp > 1 || b.cp > 1 || b.ep > 1 || plan.mesh.pp > 1)
    refuse("is of ranks that divide tables and batch and nothing else, found tp=" +
               std::to_string(b.tp) + ", cp=" + std::to_string(b.cp) +
               ", ep=" + std::to_string(b.ep) + " and pp=" + std::to_string(plan.mesh.pp),
           "plan#/mesh", "tp=1 pp=1");
  else if (ranks < 2 || w.layout.weight_shards != ranks)
    refuse("is of tables that all data ranks divide, found " + std::to_string(ranks) +
               (ranks == 1 ? " rank" : " ranks") + " and tables in " +
               std::to_string(w.layout.weight_shards) +
               (w.layout.weight_shards == 1 ? " part" : " parts"),
           "plan#/choices", "zero=3");
  for (const ShardKill& kill : recovery.kills)
    if (kill.rank >= ranks) {
      refuse("expected ranks from 0 to " + std::to_string(ranks - 1) + " to fail, found rank " +
                 std::to_string(kill.rank),
             "--train cpr-kill", "");
      break;
    }
  if (combines_updates(plan) || synchrony_of(plan).relaxed() ||
      compression_of(plan).how != Compress::None)
    refuse(
        "gives a rank back what the others know of it, found replicas that keep gradients or "
        "weights of their own",
        "plan#/choices", "compression=none");
  if (w.layout.host_optimizer || w.layout.host_activations)
    refuse("is of what devices hold, found a plan that offloads to the host", "plan#/choices",
           "offload=none");
  const TensorFormats formats = tensor_formats(plan);
  if (narrow_scaling(w) != nullptr || formats.remainder || formats.has_scaled_state())
    refuse("saves numbers in fp32, bf16 or fp16, found a plan that keeps codes or parts of numbers",
           "plan#/choices", "precision=bf16");
  if (keeps_tensor_state(plan.optimizer))
    refuse("saves rows with their optimizer state, and " + plan.optimizer +
               " keeps some that is of no row",
           "plan#/optimizer", "optimizer=adamw");
  if (any_frozen(w.scenario.model) || !trained_tables(w.scenario.model).empty())
    refuse("is of whole tables that are all trained, found frozen ones or cores of tables",
           "plan#/choices", "");
  if (batch_ramp_of(plan))
    refuse("counts samples over one run, found a batch that grows in phases", "plan#/choices",
           "batch-ramp=off");
  if (job.training->flips.on())
    refuse("is of ranks that fail, found flipped bits beside it, which are counted by themselves",
           "--train flip-bits", "--train flip-bits=off --train flip-check=off");
  if (job.data != nullptr && job.data->acting())
    refuse("leaves the data as they are, found " + std::string(job.data->name()) + ", which acts",
           "--data", "--train cpr=off");
}

ShardSaves::ShardSaves(CpuExecution& execution, const Workload& workload, const Training& training,
                       const DataSource& data, std::string state)
    : execution_(execution),
      workload_(workload),
      training_(training),
      data_(data),
      tables_(tables_of(workload.scenario.model)),
      struck_(training.recovery.kills.size(), false),
      first_update_(execution.updates()),
      kept_(std::move(state)) {
  report_.how = training.recovery.how;
  report_.shards = execution_.peers();
  report_.samples = training.steps * workload.scenario.plan.batch.global;
  Processes* const processes = execution_.processes();
  if (processes != nullptr && processes->took_place()) {
    take_over();
    return;
  }
  std::vector<std::string> parts;
  if (processes != nullptr)
    parts = processes->all_gather(packed(parts_of(execution_.held_parts(processes->rank()))));
  for (int rank = 0; rank < execution_.peers(); ++rank) {
    const Parts held = here(rank) ? execution_.held_parts(rank) : Parts{};
    shards_.push_back(begun_shard(rank, processes != nullptr
                                            ? unpacked(parts[static_cast<std::size_t>(rank)])
                                            : parts_of(held)));
    std::vector<std::vector<std::vector<std::byte>>>& saved = shards_.back().saved;
    for (std::size_t i = 0; i < std::min(held.size(), saved.size()); ++i)
      for (std::size_t s = 0; s < saved[i].size(); ++s)
        std::memcpy(saved[i][s].data(), held[i].states[s].data, saved[i][s].size());
  }
  if (processes == nullptr) return;
  const int own = processes->rank();
  keep_for(before(own), pass_on(kept_for(own)));
}

std::vector<ShardSaves::Part> ShardSaves::parts_of(const Parts& held) {
  std::vector<Part> parts;
  for (const CpuExecution::HeldPart& one : held) {
    parts.push_back({one.model_layer, one.tensor, one.first, one.elements, one.type, {}});
    for (const CpuExecution::HeldState& state : one.states) parts.back().each.push_back(state.each);
  }
  return parts;
}

ShardSaves::Shard ShardSaves::begun_shard(int rank, std::vector<Part> parts) const {
  std::vector<HeldRows> held;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (tables_[t].layer != parts[i].model_layer || tables_[t].weights != parts[i].tensor)
        continue;
      const std::int64_t first = parts[i].first / tables_[t].width,
                         last = (parts[i].first + parts[i].elements - 1) / tables_[t].width;
      held.push_back({i, t, first, last + 1 - first, rows});
      rows += last + 1 - first;
    }
  Shard shard{std::move(parts), std::move(held),
              RowSaves(training_.recovery, rows,
                       Random(seed_of(training_, RandomSource::Rounding))
                           .bits(static_cast<std::uint64_t>(rank)))};
  for (const Part& part : shard.parts) {
    if (!keeps_for(rank) || training_.recovery.how == ShardSaving::Full) break;
    shard.saved.emplace_back();
    for (const std::uint64_t each : part.each)
      shard.saved.back().emplace_back(static_cast<std::size_t>(part.elements) * each);
  }
  return shard;
}

Bytes ShardSaves::bytes() const {
  std::size_t all = kept_.size() + kept_before_.size();
  for (const Shard& one : shards_)
    for (const auto& part : one.saved)
      for (const std::vector<std::byte>& state : part) all += state.size();
  return {static_cast<std::int64_t>(all)};
}

void ShardSaves::see_update() {
  const std::int64_t batch = workload_.scenario.plan.batch.global;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (const Dim& dim : (*tables_[t].graph)[tables_[t].ids].shape) {
      shape.push_back(dim.axis == Axis::Batch ? batch : dim.size);
      count *= shape.back();
    }
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    data_.fill({workload_.scenario.model, *tables_[t].graph, tables_[t].ids, shape,
                execution_.consumed() - batch},
               rows);
    for (Shard& shard : shards_)
      for (const HeldRows& held : shard.held) {
        if (held.table != t) continue;
        for (const std::int64_t row : rows) {
          if (row < held.first || row >= held.first + held.count) continue;
          shard.rows.look_up(held.number + row - held.first);
          ++report_.lookups;
        }
      }
  }
  if (training_.recovery.how == ShardSaving::Full) return;
  for (int rank = 0; rank < execution_.peers(); ++rank) {
    const Parts parts = here(rank) ? execution_.held_parts(rank) : Parts{};
    Shard& one = shard(rank);
    each_mirrored(one, [&](std::size_t part, std::size_t state, std::size_t bytes) {
      if (!parts.empty())
        std::memcpy(one.saved[part][state].data(), parts[part].states[state].data, bytes);
      report_.mirrored += Bytes{static_cast<std::int64_t>(bytes)};
    });
  }
  if (execution_.processes() != nullptr) pass_on_mirrored();
}

std::optional<ShardKill> ShardSaves::next_failing() {
  const std::vector<ShardKill>& kills = training_.recovery.kills;
  for (std::size_t k = 0; k < kills.size(); ++k) {
    if (struck_[k] || kills[k].step != execution_.updates()) continue;
    struck_[k] = true;
    return kills[k];
  }
  return std::nullopt;
}

void ShardSaves::meter_lost(const ShardKill& kill) {
  const int rank = static_cast<int>(kill.rank);
  RowSaves& rows = shard(rank).rows;
  const bool partial = training_.recovery.how != ShardSaving::Full;
  ShardLoss loss{kill};
  const std::int64_t interval = training_.recovery.save;
  if (partial) {
    const std::int64_t since = done() > 0 ? (done() - 1) % interval + 1 : 0;
    loss.samples = since * workload_.scenario.plan.batch.global;
    loss.lookups = rows.at_risk();
    for (std::int64_t row = 0; row < rows.rows(); ++row) loss.rows += rows.unsaved(row) > 0 ? 1 : 0;
    rows.went_back();
  }
  report_.losses.push_back(loss);
}

void ShardSaves::lose(const ShardKill& kill, const std::function<std::string()>& session) {
  meter_lost(kill);
  const int rank = static_cast<int>(kill.rank);
  if (execution_.processes() != nullptr) {
    execution_.processes()->replace(rank);
    return hand_over(rank, session());
  }
  execution_.replace(DeviceId{0}, rank);
  if (training_.recovery.how == ShardSaving::Full) return;
  restore(rank);
  execution_.restored();
}

void ShardSaves::restore(int rank) {
  const Parts parts = execution_.held_parts(rank);
  const auto& saved = shard(rank).saved;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t s = 0; s < parts[i].states.size(); ++s)
      std::memcpy(parts[i].states[s].data, saved[i][s].data(), saved[i][s].size());
}

bool ShardSaves::due() const { return done() % training_.recovery.every() == 0; }

double ShardSaves::change(const Shard& shard, const Parts& parts, std::int64_t row) const {
  double sum = 0;
  each_state_of(
      shard, row, [&](std::size_t part, std::size_t state, std::size_t at, std::size_t bytes) {
        if (state > 0) return;
        const CpuExecution::HeldState& held = parts[part].states[state];
        const auto count = static_cast<std::int64_t>(bytes / held.each);
        std::vector<float> now(static_cast<std::size_t>(count)), then(now.size());
        to_floats(held.data + at, parts[part].type, now.data(), count);
        to_floats(shard.saved[part][state].data() + at, parts[part].type, then.data(), count);
        for (std::size_t e = 0; e < now.size(); ++e) {
          const double by = static_cast<double>(now[e]) - static_cast<double>(then[e]);
          sum += by * by;
        }
      });
  return sum;
}

// Returns a list for each rank. Only the process of a rank knows how far its rows have changed; all
// else that chooses them is known to all.
std::vector<std::vector<std::int64_t>> ShardSaves::chosen_rows() {
  const bool told =
      execution_.processes() != nullptr && training_.recovery.how == ShardSaving::Scar;
  std::vector<std::vector<std::int64_t>> rows;
  std::string own;
  for (int rank = 0; rank < execution_.peers(); ++rank) {
    Shard& one = shard(rank);
    const Parts parts = here(rank) ? execution_.held_parts(rank) : Parts{};
    rows.emplace_back();
    if (told && !here(rank)) continue;
    rows.back() = one.rows.choose([&](std::int64_t row) { return change(one, parts, row); });
    if (told) append_list(own, rows.back());
  }
  if (!told) return rows;
  rows.clear();
  for (const std::string& bytes : execution_.processes()->all_gather(own))
    rows.push_back(Pieces(bytes).list<std::int64_t>());
  return rows;
}

void ShardSaves::save() {
  const std::vector<std::vector<std::int64_t>> rows = chosen_rows();
  for (int rank = 0; rank < execution_.peers(); ++rank) {
    Shard& one = shard(rank);
    const std::vector<std::int64_t>& chosen = rows[static_cast<std::size_t>(rank)];
    const Parts parts = here(rank) ? execution_.held_parts(rank) : Parts{};
    for (const std::int64_t row : chosen)
      each_state_of(one, row,
                    [&](std::size_t part, std::size_t state, std::size_t at, std::size_t bytes) {
                      if (!parts.empty())
                        std::memcpy(one.saved[part][state].data() + at,
                                    parts[part].states[state].data + at, bytes);
                      report_.saved += Bytes{static_cast<std::int64_t>(bytes)};
                    });
    one.rows.saved(chosen);
    report_.rows_saved += static_cast<std::int64_t>(chosen.size());
  }
  ++report_.saves;
  if (execution_.processes() != nullptr) pass_on_rows(rows);
}

void ShardSaves::keep(std::string bytes) {
  kept_ = std::move(bytes);
  for (const Shard& one : shards_)
    for (const Part& part : one.parts)
      for (const std::uint64_t each : part.each)
        report_.saved += Bytes{part.elements * static_cast<std::int64_t>(each)};
  ++report_.saves;
  if (execution_.processes() != nullptr) kept_before_ = pass_on(kept_);
}

}  // namespace trainyard
