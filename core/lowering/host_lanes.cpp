#include "core/lowering/host_lanes.h"

#include "core/lowering/phases.h"

namespace trainyard {
namespace {

constexpr std::string_view kGradientsDown = "gradients to host",
                           kOnTheHost = "optimizer on the host", kWeightsUp = "weights from host",
                           kStateRead = "optimizer state from NVMe",
                           kStateWritten = "optimizer state to NVMe";

}  // namespace

HostLanes::HostLanes(const Workload& w, const StageCopies& places, const Order& order, Grain grain,
                     Draft& draft)
    : w_(w), places_(places), draft_(draft) {
  if (!w.layout.host_optimizer && !w.layout.host_activations) return;
  streams_.resize(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  list_.resize(places.size());
  buffers_.resize(streams_.size());
  layers_on_nvme_.resize(streams_.size());
  for (std::size_t place = 0; w.layout.host_optimizer && place < places.size(); ++place) {
    if (grain == Grain::Order) make_update(place);
    if (grain == Grain::Op || w.layout.nvme_optimizer) make_layer_updates(place, grain);
  }
  if (!w.layout.host_activations) return;
  if (w.layout.layers_in_flight > 0) {
    layers_ = std::make_unique<LayerCopies>(w, places, order, draft);
    return;
  }
  for (const Lane& lane : order.lanes) moves_.push_back(offloaded(lane));
  moving_.resize(order.lanes.size());
}

void HostLanes::add_streams(DeviceId id) {
  streams_[id.value] = {draft_.stream(id, "to host", false), draft_.stream(id, "from host", false),
                        draft_.stream(id, "host", false), draft_.stream(id, "from NVMe", false),
                        draft_.stream(id, "to NVMe", false)};
  if (layers_) layers_->set_streams(id, streams_[id.value].down, streams_[id.value].up);
}

TaskId HostLanes::task(std::size_t place, TaskKind kind, Phase phase, std::string_view name,
                       Bytes bytes, int layer) {
  if (bytes.value == 0) return {};
  Task made;
  made.kind = kind;
  made.phase = phase;
  made.stage = stage(place);
  made.name = draft_.name(name);
  made.pass = draft_.name("offload");
  made.bytes = bytes;
  made.layer = layer;
  return draft_.task(made);
}

void HostLanes::make_update(std::size_t place) {
  const HostWork& work = host_work(w_, stage(place));
  const auto copy = [&](Phase phase, std::string_view name, Bytes bytes) {
    return task(place, TaskKind::HostCopy, phase, name, bytes);
  };
  const auto update = [&](Bytes touched) {
    return task(place, TaskKind::HostUpdate, Phase::Update, kOnTheHost, touched);
  };
  Place& made = list_[place];
  made.gradients = {
      copy(Phase::Backward, kGradientsDown, work.all.gradients - work.first.gradients),
      copy(Phase::Backward, kGradientsDown, work.first.gradients)};
  if (w_.layout.nvme_optimizer) return;  // layers update one by one
  made.updates = {update(work.first.touched), update(work.all.touched - work.first.touched)};
  made.weights = {copy(Phase::Update, kWeightsUp, work.all.weights - work.last.weights),
                  copy(Phase::Update, kWeightsUp, work.last.weights)};
}

// An order-grain program has no layers of its own, and its gradients leave by parts of the stage.
void HostLanes::make_layer_updates(std::size_t place, Grain grain) {
  Place& made = list_[place];
  std::size_t& on_nvme = layers_on_nvme_[places_[place].device.value];
  made.first_layer = on_nvme;
  for (const Workload::Run& run : w_.runs[stage(place).value]) {
    const HostShare one = host_share(w_.bodies[static_cast<std::size_t>(run.body)], w_.layout);
    for (int layer = run.first_layer; layer < run.first_layer + run.count; ++layer) {
      const int written = grain == Grain::Op ? layer : -1;
      const auto of_layer = [&](TaskKind kind, Phase phase, std::string_view name, Bytes bytes) {
        return task(place, kind, phase, name, bytes, written);
      };
      if (grain == Grain::Op)
        made.gradients.push_back(
            of_layer(TaskKind::HostCopy, Phase::Backward, kGradientsDown, one.gradients));
      made.updates.push_back(
          of_layer(TaskKind::HostUpdate, Phase::Update, kOnTheHost, one.touched));
      made.weights.push_back(of_layer(TaskKind::HostCopy, Phase::Update, kWeightsUp, one.weights));
      if (!w_.layout.nvme_optimizer) continue;
      made.reads.push_back(of_layer(TaskKind::NvmeRead, Phase::Update, kStateRead, one.nvme));
      made.writes.push_back(of_layer(TaskKind::NvmeWrite, Phase::Update, kStateWritten, one.nvme));
      on_nvme += one.nvme.value > 0 ? 1 : 0;
    }
  }
}

void HostLanes::make_copies(std::size_t place, const std::vector<BufferId>& kept) {
  Bytes bytes{};
  for (const BufferId id : kept)
    if (id.valid()) bytes += draft_.program.buffers[id.value].bytes;
  const auto copy = [&](Phase phase, std::string_view name, bool down) {
    const TaskId id = task(place, TaskKind::HostCopy, phase, name, bytes);
    for (const BufferId buffer : kept)
      if (id.valid() && buffer.valid()) draft_.effect(id, buffer, !down, down);
    return id;
  };
  list_[place].down = copy(Phase::Forward, "activations to host", true);
  list_[place].up = copy(Phase::Backward, "activations from host", false);
}

Ref HostLanes::before(std::size_t lane, std::size_t place, const Action& a) {
  Moving& moving = moving_[lane];
  if (a.phase == Phase::Forward) return moving.down[moving.count % kHostBuffers];
  const auto at = moving.there.find({a.stage.value, a.microbatch});
  if (at == moving.there.end()) return {};
  Refs after = moving.window;
  after.add(at->second);
  moving.there.erase(at);
  return draft_.add(streams(place).up, list_[place].up, a.microbatch, after, a.wave, a.weights);
}

void HostLanes::begins(std::size_t lane, Phase phase, const Refs& start) {
  Moving& moving = moving_[lane];
  const bool backward = phase != Phase::Forward;
  if (moving.backward && !backward) return;
  moving.backward = backward;
  moving.window = start;
}

void HostLanes::take(std::size_t lane, std::size_t place, const Action& a, const Refs& gone) {
  if (!list_[place].down.valid()) return;
  Moving& moving = moving_[lane];
  const Ref down =
      draft_.add(streams(place).down, list_[place].down, a.microbatch, gone, a.wave, a.weights);
  moving.down[moving.count++ % kHostBuffers] = down;
  moving.there[{a.stage.value, a.microbatch}] = down;
}

void HostLanes::send_gradients(std::size_t place, std::size_t part, std::int32_t microbatch,
                               const Refs& after) {
  const TaskId id = list_[place].gradients[part];
  if (!id.valid()) return;
  const Ref sent = draft_.add(streams(place).down, id, microbatch, after);
  list_[place].sent = {};
  list_[place].sent.add(sent);
}

Ref HostLanes::update(std::size_t place, std::int32_t step, const Refs& after,
                      std::int16_t version) {
  const Place& tasks = list_[place];
  const auto add = [&](std::uint32_t stream, TaskId id, const Refs& waits) {
    return id.valid() ? draft_.add(stream, id, step, waits, 0, version) : Ref{};
  };
  Refs ready = after;
  ready.add(tasks.sent);
  Refs read = ready;  // what the next read waits for; the others follow in its stream
  std::size_t layer = tasks.first_layer;
  Ref weights;
  for (std::size_t i = 0; i < tasks.updates.size(); ++i) {
    const bool on_nvme = !tasks.reads.empty() && tasks.reads[i].valid();
    Refs* const buffer =
        on_nvme ? &buffers_[places_[place].device.value][layer++ % kStateBuffers] : nullptr;
    if (on_nvme) {
      read.add(*buffer);
      ready.add(add(streams(place).read, tasks.reads[i], read));
      read = {};
      *buffer = {};
    }
    if (const Ref updated = add(streams(place).host, tasks.updates[i], ready); updated.valid()) {
      ready = {};
      ready.add(updated);
    }
    if (on_nvme) buffer->add(add(streams(place).write, tasks.writes[i], ready));
    if (const Ref up = add(streams(place).up, tasks.weights[i], ready); up.valid()) {
      weights = up;
      if (on_nvme) buffer->add(up);
    }
  }
  return weights;
}

}  // namespace trainyard
