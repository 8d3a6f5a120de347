// Implements what a layer hands to its neighbours, on its device or towards a message: its output
// and side input, and their gradients.
#include <cstring>
#include <utility>

#include "backends/cpu/execution/cpu_execution.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// Writes a tensor behind the one that an allocation begins with.
void pack(const LayerLayout& layout, const Operand& first, const Operand& second,
          const Allocation& into, const std::byte* from) {
  std::memcpy(into.data + layout.local[first.tensor.value].bytes().value, from,
              static_cast<std::size_t>(layout.local[second.tensor.value].bytes().value));
}

}  // namespace

void CpuExecution::deliver_output(const At& a, std::size_t l, Flight& f) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  LayerFlight& layer = f.layers[l];
  const bool last_layer = l + 1 == f.layers.size();
  if (last_layer && plan_.last_stage(place)) return;  // the loss
  const auto index = static_cast<std::size_t>(layout.output.index);
  const bool kept = layout.output.where == Operand::Where::Saved;
  if (last_layer && place.after < 0) {  // it leaves as a message
    if (kept) f.lent = layer.saved[index].data;
    return;
  }
  Flight& next =
      last_layer ? a.device.flight(static_cast<std::size_t>(place.after), a.microbatch) : f;
  LayerFlight& to = last_layer ? next.layers.front() : f.layers[l + 1];
  if (kept) {
    to.input.lent = layer.saved[index].data;
    return;
  }
  if (layout.output.where != Operand::Where::Transient || !layer.transients[index])
    refuse("the output of a layer is not there when the layer ends");
  to.input.held = layer.transients[index];
  layer.transients[index] = {};
  --f.held, ++next.held;
}

void CpuExecution::deliver_gradient(const At& a, std::size_t l, Flight& f) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  LayerFlight& layer = f.layers[l];
  if (layout.input_gradient.where != Operand::Where::Transient) return;
  if (l == 0 && place.before < 0) return;  // it leaves as a message, or is not needed
  const auto index = static_cast<std::size_t>(layout.input_gradient.index);
  if (!layer.transients[index]) return;
  Flight& next = l == 0 ? a.device.flight(static_cast<std::size_t>(place.before), a.microbatch) : f;
  LayerFlight& to = l == 0 ? next.layers.back() : f.layers[l - 1];
  const StagePlacement& below =
      l == 0 ? plan_.places[static_cast<std::size_t>(place.before)] : place;
  const PlacedLayer& taker = l == 0 ? below.layers.back() : place.layers[l - 1];
  const LayerLayout& takes = plan_.layouts[static_cast<std::size_t>(taker.layout)];
  if (takes.backward.empty()) return;  // nothing below is trained
  to.output_gradient.held = layer.transients[index];
  layer.transients[index] = {};
  --f.held, ++next.held;
}

// Every layer that reads the side input hands it to the next; out of a stage it goes behind the
// output (see DeviceState::unpack).
void CpuExecution::deliver_side(const At& a, std::size_t l, Flight& f) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  if (!layout.side.there()) return;
  LayerFlight& layer = f.layers[l];
  const bool kept = layout.side.where == Operand::Where::Saved,
             last_layer = l + 1 == f.layers.size();
  Allocation& side =
      (kept ? layer.saved : layer.transients)[static_cast<std::size_t>(layout.side.index)];
  if (last_layer && plan_.last_stage(place)) return;
  if (last_layer) {
    const bool output_kept = layout.output.where == Operand::Where::Saved;
    const Allocation& leaves =
        f.output || output_kept ? f.output
                                : layer.transients[static_cast<std::size_t>(layout.output.index)];
    if (leaves) {
      pack(layout, layout.output, layout.side, leaves, side.data);
      return;
    }
    if (place.after < 0) {
      if (kept)
        f.lent_side = side.data;
      else
        f.side = std::exchange(side, {});
      return;
    }
  }
  const auto after = static_cast<std::size_t>(place.after);
  const PlacedLayer& reader = last_layer ? plan_.places[after].layers.front() : place.layers[l + 1];
  if (!plan_.layouts[static_cast<std::size_t>(reader.layout)].side.there()) return;
  Flight& next = last_layer ? a.device.flight(after, a.microbatch) : f;
  Arrival& to = last_layer ? next.layers.front().side : f.layers[l + 1].side;
  if (kept) {
    to.lent = side.data;
    return;
  }
  to.held = std::exchange(side, {});
  --f.held, ++next.held;
}

// The layer before adds its own part.
void CpuExecution::deliver_side_gradient(const At& a, std::size_t l, Flight& f) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  if (!layout.side_gradient.there() || layout.side_gradient.tensor == layout.graph->input) return;
  LayerFlight& layer = f.layers[l];
  Allocation& gradient = layer.transients[static_cast<std::size_t>(layout.side_gradient.index)];
  if (l == 0) {
    const Allocation& leaves =
        f.gradient ? f.gradient
                   : layer.transients[static_cast<std::size_t>(layout.input_gradient.index)];
    pack(layout, layout.input_gradient, layout.side_gradient, leaves, gradient.data);
    return;
  }
  f.layers[l - 1].side_gradient.held = std::exchange(gradient, {});
}

}  // namespace trainyard
