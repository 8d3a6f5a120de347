#include "backends/cpu/execution/state/device_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/methods/layers/transients.h"
#include "core/methods/parallel/operator_stages.h"
#include "core/methods/precision/narrow_products.h"

namespace trainyard {
namespace {

std::string device_name(DeviceId device, int peer, int peers) {
  std::string name = "d" + std::to_string(device.value);
  return peers > 1 ? name + " (peer " + std::to_string(peer) + ")" : name;
}

// The buffers that a copy of activations carries.
std::vector<BufferId> moved_by(const Program& program, const Task& task) {
  std::vector<BufferId> moved;
  for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e)
    if (const BufferId id = program.effects[e].buffer; program.buffers[id.value].bytes.value > 0)
      moved.push_back(id);
  return moved;
}

}  // namespace

DeviceState::DeviceState(const RunPlan& plan, DeviceId device, int peer, Bytes limit, int jobs)
    : plan_(plan),
      device_(device),
      peer_(peer),
      arena_(plan.program, device,
             device_name(device, peer, plan.peers.count()) +
                 (jobs > 1 ? ", shared by " + std::to_string(jobs) + " jobs," : ""),
             Bytes{limit.value / jobs}, jobs),
      // Loads of experts are planned to be equal, and may be larger.
      host_("the host of " + device_name(device, peer, plan.peers.count()),
            plan.peers.ep > 1 ? Bytes{} : plan.host),
      stages_(plan.places.size()) {
  if (const int each = cores_of_device(plan.workload.scenario.plan); each > 1)
    cores = std::make_unique<OperatorCores>(each);
  for (std::size_t at = 0; at < stages_.size(); ++at) {
    if (plan.places[at].device != device) continue;
    const auto count = static_cast<std::size_t>(plan.program.microbatches) *
                       static_cast<std::size_t>(plan.program.steps);
    stages_[at].flights.resize(count);
  }
}

void DeviceState::hold_on_nvme() {
  if (nvme_ != nullptr) return;
  const StateBuffers& buffers = plan_.state_buffers[device_.value];
  nvme_ = std::make_unique<NvmeFile>(
      "the NVMe of " + device_name(device_, peer_, plan_.peers.count()), plan_.nvme[device_.value]);
  for (int i = 0; i < buffers.count; ++i) nvme_buffers_.push_back(host_.take(buffers.each));
}

bool DeviceState::in_flight(std::size_t place, std::int32_t microbatch) const {
  return stages_[place].flights[static_cast<std::size_t>(microbatch)] != nullptr;
}

Flight& DeviceState::flight(std::size_t place, std::int32_t microbatch) {
  StageState& stage = stages_[place];
  std::unique_ptr<Flight>& flight = stage.flights[static_cast<std::size_t>(microbatch)];
  if (flight != nullptr) return *flight;
  const auto* const sizes = sizes_.empty() ? nullptr : sizes_[static_cast<std::size_t>(microbatch)];
  if (!stage.spare.empty()) {
    flight = std::move(stage.spare.back());
    stage.spare.pop_back();
    flight->sizes = sizes;
    return *flight;
  }
  flight = std::make_unique<Flight>();
  flight->sizes = sizes;
  const StagePlacement& p = plan_.places[place];
  flight->layers.resize(p.layers.size());
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    const Body& body = *plan_.layouts[static_cast<std::size_t>(p.layers[l].layout)].body;
    flight->layers[l].saved.resize(body.saved.size());
    flight->layers[l].transients.resize(body.transients.size());
    flight->layers[l].narrow.resize(body.saved.size());
  }
  return *flight;
}

void DeviceState::land(std::size_t place, std::int32_t microbatch) {
  StageState& stage = stages_[place];
  std::unique_ptr<Flight>& flight = stage.flights[static_cast<std::size_t>(microbatch)];
  if (flight == nullptr) return;
  flight->lent = flight->lent_side = nullptr;
  for (LayerFlight& layer : flight->layers)
    for (Arrival* way : {&layer.input, &layer.side, &layer.output_gradient, &layer.side_gradient})
      way->lent = nullptr;
  stage.spare.push_back(std::move(flight));
}

// --- buffers ---

// The slot of a message depends on the task: a receive brings it in, a computation consumes one and
// makes another, and a send releases it.
Allocation& DeviceState::slot(std::size_t place, std::int32_t microbatch, const Task& task,
                              const Buffer& buffer, bool takes) {
  Flight& f = flight(place, microbatch);
  const bool forward = task.phase == Phase::Forward;
  if (buffer.holds == Holds::Message) {
    const bool arrives =
        task.kind == TaskKind::Receive || (task.kind == TaskKind::Compute && !takes);
    if (arrives)
      return forward ? f.layers.front().input.held : f.layers.back().output_gradient.held;
    return forward ? f.output : f.gradient;
  }
  LayerFlight& layer = f.layers[plan_.layer_of(buffer.layer)];
  const auto item = static_cast<std::size_t>(buffer.item);
  switch (buffer.holds) {
    case Holds::Saved:
      return layer.saved[item];
    case Holds::Transient:
      return layer.transients[item];
    case Holds::Gathered:
      return layer.gathered;
    case Holds::Unreduced:
      return buffer.item <= 0 ? layer.unreduced : layer.scattering;
    default:
      throw Error(Error::Kind::Internal, "a buffer that no instruction of a layer may hold: " +
                                             std::string(plan_.program.name(buffer.name)));
  }
}

// A stage sends one message: its output (or the gradient of its input), and behind it the side
// input (or its gradient). The program releases the message before its two parts take their places.
void DeviceState::unpack(Flight& f, LayerFlight& layer, const LayerLayout& layout) {
  const auto part = [&](Arrival& first, const Operand& operand, Arrival& second) {
    if (!first.held || !operand.there()) return;
    const Bytes own = layout.local[operand.tensor.value].bytes();
    if (first.held.bytes <= own) return;
    layer.unpacked.assign(first.held.data, first.held.data + first.held.bytes.value);
    arena_.release(first.held);
    --f.held;
    first.lent = layer.unpacked.data();
    if (!second.held && second.lent == nullptr) second.lent = first.lent + own.value;
  };
  part(layer.input, layout.input, layer.side);
  part(layer.output_gradient, layout.output_gradient, layer.side_gradient);
}

// The gradient of a side input begins as that of the layer after, or as 0.
void DeviceState::begin_side_gradient(Flight& f, LayerFlight& layer, const LayerLayout& layout,
                                      Allocation& into) {
  const auto bytes =
      static_cast<std::size_t>(layout.local[layout.side_gradient.tensor.value].bytes().value);
  Arrival& from = layer.side_gradient;
  const std::byte* const begun = from.held ? from.held.data : from.lent;
  each_job([&](std::ptrdiff_t job) {
    if (begun == nullptr)
      std::memset(into.data + job, 0, bytes);
    else
      std::memcpy(into.data + job, begun + job, bytes);
  });
  if (from.held) {
    arena_.release(from.held);
    --f.held;
  }
  from.lent = nullptr;
}

// If the buffer is the same tensor as one that arrived from a neighbouring layer or stage, or as
// the one an op filled, that allocation becomes this buffer.
bool DeviceState::adopt_arrived(std::size_t place, std::int32_t microbatch, BufferId id,
                                Allocation& into) {
  const Buffer& buffer = plan_.program.buffers[id.value];
  const std::size_t l = plan_.layer_of(buffer.layer);
  LayerFlight& layer = flight(place, microbatch).layers[l];
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[place].layers[l].layout)];
  const auto is = [&](const Operand& operand) {
    return operand.index == buffer.item &&
           ((operand.where == Operand::Where::Saved && buffer.holds == Holds::Saved) ||
            (operand.where == Operand::Where::Transient && buffer.holds == Holds::Transient));
  };
  Arrival* way = nullptr;
  Bytes own = buffer.bytes;  // of the tensor without its narrow copy
  if (buffer.holds == Holds::Saved)
    if (const TensorId kept = layout.body->saved[static_cast<std::size_t>(buffer.item)].tensor;
        kept.valid())
      own = layout.local[kept.value].bytes();
  if (is(layout.side)) way = &layer.side;
  if (is(layout.input)) way = &layer.input;
  if (is(layout.side_gradient)) way = &layer.side_gradient;
  if (is(layout.output_gradient)) way = &layer.output_gradient;
  if (way != nullptr) unpack(flight(place, microbatch), layer, layout);
  Allocation* from = way != nullptr && way->held ? &way->held : nullptr;
  if (buffer.holds == Holds::Unreduced && buffer.item > 0 && layer.unreduced)
    from = &layer.unreduced;
  // A layer that also keeps its input narrow has room for both.
  if (way != nullptr && from != nullptr && from->bytes < buffer.bytes) {
    layer.unpacked.assign(from->data, from->data + from->bytes.value);
    arena_.release(*from);
    --flight(place, microbatch).held;
    way->lent = layer.unpacked.data();
    from = nullptr;
  }
  if (from != nullptr) {
    arena_.rename(*from, id, microbatch);
    into = *from;
    *from = {};
    return true;
  }
  const bool begins = way == &layer.side_gradient;
  if (way == nullptr || (way->lent == nullptr && !begins)) return false;
  into = arena_.allocate(id, microbatch);
  ++flight(place, microbatch).held;
  if (begins) {
    begin_side_gradient(flight(place, microbatch), layer, layout, into);
    return true;
  }
  const std::byte* const lent = std::exchange(way->lent, nullptr);
  each_job([&](std::ptrdiff_t job) {
    std::memcpy(into.data + job, lent + job,
                static_cast<std::size_t>(std::min(into.bytes, own).value));
  });
  return true;
}

// Loads are planned to be equal. Where more copies of tokens come to a rank's experts than that,
// they take more than the plan says; where fewer come, the room stays.
Bytes DeviceState::needed(std::size_t place, std::int32_t microbatch, const Task& task,
                          const Buffer& buffer) {
  const bool tensor = buffer.holds == Holds::Saved || buffer.holds == Holds::Transient;
  if (plan_.peers.ep == 1 || !tensor || buffer.layer < 0 || !task.node.valid()) return buffer.bytes;
  const std::size_t l = plan_.layer_of(buffer.layer);
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[place].layers[l].layout)];
  const auto item = static_cast<std::size_t>(buffer.item);
  const bool saved = buffer.holds == Holds::Saved;
  const TensorId id =
      saved ? layout.body->saved[item].tensor : layout.body->transients[item].tensor;
  if (!id.valid() || !layout.at_experts[id.value]) return buffer.bytes;
  const auto room = [&](const TensorView& view) {
    const bool narrow = saved && layout.body->saved[item].narrow;
    return std::max(buffer.bytes, narrow ? kept_narrow(view) : view.bytes());
  };
  // Ranks of little capacity plan less than the copies of their own tokens.
  if (!layout.seen_at_experts((*layout.graph)[task.node], id)) return room(layout.local[id.value]);
  const LayerFlight& layer = flight(place, microbatch).layers[l];
  TensorView view = at_experts(layout.local[id.value], layer);
  const bool whole = buffer.holds == Holds::Transient &&
                     layout.body->transients[item].form == Transient::Form::Whole;
  // Each tensor rank has rows of its own where it does not gather them.
  if (!whole && layout.gathers_copies(id) && !layer.routing.gathered.empty())
    view.size[0] = layer.routing.gathered[static_cast<std::size_t>(plan_.peers.tensor_rank(peer_))];
  return room(view);
}

Bytes DeviceState::kept_narrow(const TensorView& view) const {
  const Workload& w = plan_.workload;
  return kept_operand_bytes(w.scenario.plan, w.layout.precision.math, view.elements());
}

void DeviceState::receive(const Operand& to, LayerFlight& layer, const LayerLayout& layout) {
  const auto index = static_cast<std::size_t>(to.index);
  const bool saved = to.where == Operand::Where::Saved;
  Allocation& held = saved ? layer.saved[index] : layer.transients[index];
  std::vector<std::byte>& received = layer.received;
  if (saved && layout.body->saved[index].narrow) {
    TensorView all = layout.local[to.tensor.value];
    all.rank = 1;
    all.size[0] = static_cast<std::int64_t>(received.size()) / bytes_of(all.type);
    make_room(held, kept_narrow(all));
    layer.narrow[index].wide = std::move(received);
    if (layer.narrow[index].wide.empty()) layer.narrow[index].wide.resize(1);  // there, of no rows
  } else {
    make_room(held, Bytes{static_cast<std::int64_t>(received.size())});
    std::copy(received.begin(), received.end(), held.data);
  }
  received.clear();
}

void DeviceState::make_room(Allocation& held, Bytes bytes) {
  const Buffer& buffer = plan_.program.buffers[held.buffer.value];
  if (std::max(buffer.bytes, bytes) == held.bytes) return;
  const BufferId id = held.buffer;
  const std::int32_t microbatch = held.microbatch;
  arena_.release(held);
  held = arena_.allocate(id, microbatch, std::max(buffer.bytes, bytes));
}

bool DeviceState::is_late(std::size_t place, const Buffer& buffer) const {
  if (buffer.holds != Holds::Transient) return false;
  const PlacedLayer& layer = plan_.places[place].layers[plan_.layer_of(buffer.layer)];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  return is_late_gradient(*layout.graph,
                          layout.body->transients[static_cast<std::size_t>(buffer.item)]);
}

void DeviceState::take(std::size_t place, std::int32_t microbatch, const Task& task, BufferId id) {
  const Buffer& buffer = plan_.program.buffers[id.value];
  if (buffer.bytes.value == 0) return;
  if (buffer.holds == Holds::OlderWeights) {
    stages_[place].older.push_back({arena_.allocate(id, microbatch), -1});
    return;
  }
  Allocation& into = slot(place, microbatch, task, buffer, true);
  if (task.kind == TaskKind::HostCopy) {
    Flight& f = flight(place, microbatch);
    into = arena_.allocate(id, microbatch, left_of(f, id)->bytes);
    ++f.held;
    return;
  }
  if (buffer.layer >= 0 && buffer.holds != Holds::Message &&
      adopt_arrived(place, microbatch, id, into))
    return;
  into = arena_.allocate(id, microbatch, needed(place, microbatch, task, buffer));
  if (buffer.holds == Holds::Saved) {
    const std::size_t l = plan_.layer_of(buffer.layer);
    const auto item = static_cast<std::size_t>(buffer.item);
    const LayerLayout& layout =
        plan_.layouts[static_cast<std::size_t>(plan_.places[place].layers[l].layout)];
    if (const SavedTensor& saved = layout.body->saved[item]; saved.narrow) {
      LayerFlight& layer = flight(place, microbatch).layers[l];
      TensorView wide = layout.local[saved.tensor.value];
      if (layout.seen_at_experts((*layout.graph)[task.node], saved.tensor))
        wide = at_experts(wide, layer);
      layer.narrow[item].wide.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(1, wide.bytes().value)));
    }
  }
  ++flight(place, microbatch).held;
  if (buffer.holds == Holds::Unreduced || is_late(place, buffer))
    each_job([&](std::ptrdiff_t job) {
      std::memset(into.data + job, 0, static_cast<std::size_t>(into.bytes.value));
    });
  if (buffer.holds != Holds::Message || task.kind != TaskKind::Compute ||
      task.phase == Phase::Forward)
    return;
  // The gradient that leaves the stage may be that of a side input.
  Flight& f = flight(place, microbatch);
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[place].layers.front().layout)];
  if (layout.side_gradient.there() && layout.side_gradient.tensor == layout.graph->input) {
    unpack(f, f.layers.front(), layout);
    begin_side_gradient(f, f.layers.front(), layout, into);
  }
}

void DeviceState::give_back(std::size_t place, std::int32_t microbatch, const Task& task,
                            BufferId id) {
  const Buffer& buffer = plan_.program.buffers[id.value];
  if (buffer.bytes.value == 0) return;
  if (buffer.holds == Holds::OlderWeights) {
    StageState& stage = stages_[place];
    std::vector<StageState::Older>& older = stage.older;
    const auto oldest = std::find_if(older.begin(), older.end(), [&](const StageState::Older& o) {
      return !stage.is_read(o.version);
    });
    if (oldest == older.end())
      throw Error(Error::Kind::Internal, "a weight version is let go that is still read");
    arena_.release(oldest->weights);
    older.erase(oldest);
    return;
  }
  // The bucket that scatters the gradients has taken the allocation over.
  if (buffer.holds == Holds::Unreduced && buffer.item == 0) return;
  if (buffer.stage != task.stage) return;  // handed on by the stage before, and renamed
  Allocation& held = slot(place, microbatch, task, buffer, false);
  if (!held || held.buffer != id) return;  // handed on to the next layer
  arena_.release(held);
  Flight& f = flight(place, microbatch);
  --f.held;
  if (buffer.holds == Holds::Saved && task.kind != TaskKind::HostCopy)
    f.layers[plan_.layer_of(buffer.layer)].narrow[static_cast<std::size_t>(buffer.item)] = {};
}

std::vector<LeftBuffer>::iterator DeviceState::left_of(Flight& f, BufferId id) {
  const auto left = std::find_if(f.left.begin(), f.left.end(),
                                 [&](const LeftBuffer& one) { return one.buffer == id; });
  if (left == f.left.end()) refuse("activations come back that have not left");
  return left;
}

void DeviceState::copy_to_host(std::size_t place, std::int32_t microbatch, const Task& task) {
  Flight& f = flight(place, microbatch);
  for (const BufferId id : moved_by(plan_.program, task)) {
    const Allocation& held = slot(place, microbatch, task, plan_.program.buffers[id.value], false);
    if (!held || held.buffer != id) refuse("activations leave that are not there");
    f.left.push_back({id, held.bytes, host_.take(held.bytes)});
    std::copy_n(held.data, held.bytes.value, f.left.back().at);
  }
}

void DeviceState::copy_from_host(std::size_t place, std::int32_t microbatch, const Task& task) {
  Flight& f = flight(place, microbatch);
  for (const BufferId id : moved_by(plan_.program, task)) {
    const Buffer& buffer = plan_.program.buffers[id.value];
    const LeftBuffer& left = *left_of(f, id);
    LayerFlight& layer = f.layers[plan_.layer_of(buffer.layer)];
    std::copy_n(left.at, left.bytes.value, layer.saved[static_cast<std::size_t>(buffer.item)].data);
  }
}

void DeviceState::leave_host(std::size_t place, std::int32_t microbatch, const Task& task) {
  Flight& f = flight(place, microbatch);
  for (const BufferId id : moved_by(plan_.program, task)) {
    const auto left = left_of(f, id);
    host_.give_back(left->at);
    f.left.erase(left);
  }
}

void DeviceState::exchange(Allocation& a, Allocation& b) {
  const BufferId buffer = a.buffer;
  const std::int32_t microbatch = a.microbatch;
  arena_.rename(a, b.buffer, b.microbatch);
  arena_.rename(b, buffer, microbatch);
  std::swap(a, b);
}

// --- sizes ---

void DeviceState::set_sizes(std::int32_t microbatch, const std::vector<LayerSizes>& sizes) {
  sizes_.resize(static_cast<std::size_t>(plan_.program.microbatches) *
                static_cast<std::size_t>(plan_.program.steps));
  sizes_[static_cast<std::size_t>(microbatch)] = &sizes;
  // Stages without backward leave their flights, which the next step goes on with.
  for (StageState& stage : stages_)
    if (!stage.flights.empty())
      if (const auto& flight = stage.flights[static_cast<std::size_t>(microbatch)])
        flight->sizes = &sizes;
}

const LayerSizes& DeviceState::sizes(std::size_t place, std::size_t layer,
                                     std::int32_t microbatch) const {
  const auto layout = static_cast<std::size_t>(plan_.places[place].layers[layer].layout);
  if (sizes_.empty()) return plan_.layouts[layout];
  return (*sizes_[static_cast<std::size_t>(microbatch)])[layout];
}

const LayerSizes& DeviceState::sizes(std::size_t place, std::size_t layer, const Flight& f) const {
  const auto layout = static_cast<std::size_t>(plan_.places[place].layers[layer].layout);
  return f.sizes == nullptr ? plan_.layouts[layout] : (*f.sizes)[layout];
}

// --- views ---

TensorView DeviceState::at_experts(TensorView view, const LayerFlight& layer) const {
  if (plan_.peers.ep == 1) return view;
  for (int i = 0; i + 1 < view.rank; ++i) view.size[static_cast<std::size_t>(i)] = 1;
  view.size[0] = static_cast<std::int64_t>(layer.routing.held.size());
  return view;
}

TensorView DeviceState::view(std::size_t place, std::size_t l, Flight& f,
                             const Operand& operand) const {
  if (!operand.there() || operand.where == Operand::Where::Parameter) return {};
  const StagePlacement& stage = plan_.places[place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(stage.layers[l].layout)];
  const LayerSizes& own = sizes(place, l, f);
  TensorView view = (operand.whole ? own.whole : own.local)[operand.tensor.value];
  LayerFlight& layer = f.layers[l];
  const auto index = static_cast<std::size_t>(operand.index);
  if (operand.where == Operand::Where::Saved) {
    view.data = layer.saved[index].data;
    if (layout.body->saved[index].narrow) {
      std::vector<std::byte>& wide = layer.narrow[index].wide;
      view.data = wide.empty() ? nullptr : wide.data();
    }
    return view;
  }
  view.data = layer.transients[index].data;
  if (view.data != nullptr) return view;
  // A message stands in for the stage's input or output, or for their gradients.
  const auto is = [&](const Operand& other) {
    return other.where == operand.where && other.index == operand.index;
  };
  if (is(layout.input)) view.data = layer.input.held.data;
  if (is(layout.output_gradient)) view.data = layer.output_gradient.held.data;
  if (is(layout.output) && l + 1 == f.layers.size()) view.data = f.output.data;
  if (is(layout.input_gradient) && l == 0) view.data = f.gradient.data;
  return view;
}

}  // namespace trainyard
