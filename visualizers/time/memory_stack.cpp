#include "visualizers/time/memory_stack.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kBandInks = 7;

/// Bytes that a band gains or loses.
struct BandChange {
  Instant at;
  std::size_t band;
  std::int64_t by;
};

/// One allocation or release of something that comes and goes, before it has a band.
struct Move {
  Instant at;
  InstructionId by;
  BufferId buffer;
  bool allocate;
};

std::vector<Move> moves_on(const Experiment& e, DeviceId device) {
  const Program& p = e.program;
  std::vector<Move> moves;
  for (const Stream& stream : p.streams) {
    if (stream.device != device) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Task& task = p.task(InstructionId{i});
      for (std::uint32_t m = task.first_effect; m < task.first_effect + task.effects; ++m) {
        const MemoryEffect& effect = p.effects[m];
        const Span& span = e.timeline.spans[i];
        moves.push_back(
            {effect.at_end ? span.end : span.start, {i}, effect.buffer, effect.allocate});
      }
    }
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.at < b.at; });
  return moves;
}

/// Gives every move its bands; band 0 is the state.
class Bands {
 public:
  Bands(const Program& program, DeviceId device, StackBy by, const std::vector<Move>& moves)
      : program_(program) {
    switch (by) {
      case StackBy::Layer:
        by_layer(device);
        break;
      case StackBy::Microbatch:
        by_microbatch(moves);
        break;
      case StackBy::Wave:
      case StackBy::Category:
        by_wave(wave_count(program));
        break;
    }
  }
  Bands(const Program& program, int waves) : program_(program) { by_wave(waves); }

  const std::vector<std::string>& names() const { return names_; }

  template <class See>
  void each(const Move& move, const See& see) const {
    const Buffer& buffer = program_.buffers[move.buffer.value];
    if (!of_microbatches(buffer)) return see(std::size_t{0}, buffer.bytes.value);
    if (by_index_) return see(1 + by_index_(move), buffer.bytes.value);
    if (buffer.layer >= 0) return see(layer_band_.at(buffer.layer), buffer.bytes.value);
    std::int64_t left = buffer.bytes.value;
    for (std::uint32_t i = buffer.first_part; i < buffer.first_part + buffer.parts; ++i) {
      const std::int64_t part = std::min(left, program_.parts[i].bytes.value);
      see(part_band(program_.parts[i].name), part);
      left -= part;
    }
    if (left > 0) see(part_band(buffer.name), left);
  }

 private:
  void by_wave(int waves) {
    for (int w = 0; w < waves; ++w)
      names_.push_back(waves == 1   ? "microbatches"
                       : waves == 2 ? (w == 0 ? "tick" : "tock")
                                    : "wave " + std::to_string(w));
    by_index_ = [this, waves](const Move& move) {
      return static_cast<std::size_t>(std::clamp<int>(wave_of(move), 0, waves - 1));
    };
  }

  // As many bands as microbatches are alive together, as far as there are colours.
  void by_microbatch(const std::vector<Move>& moves) {
    std::map<std::int32_t, std::int64_t> held;
    std::size_t most = 1;
    std::int32_t last = 0;
    for (const Move& move : moves) {
      const Buffer& buffer = program_.buffers[move.buffer.value];
      if (!of_microbatches(buffer)) continue;
      const std::int32_t microbatch = std::max(0, program_.instructions[move.by.value].microbatch);
      last = std::max(last, microbatch);
      if ((held[microbatch] += move.allocate ? buffer.bytes.value : -buffer.bytes.value) <= 0)
        held.erase(microbatch);
      most = std::max(most, held.size());
    }
    const std::size_t bands = std::min(most, kBandInks);
    for (std::size_t band = 0; band < bands; ++band) {
      std::string name = "microbatch " + std::to_string(band);
      std::size_t next = band + bands;
      for (int more = 0; more < 2 && next <= static_cast<std::size_t>(last); ++more, next += bands)
        name += ", " + std::to_string(next);
      names_.push_back(name + (next <= static_cast<std::size_t>(last) ? " \u2026" : ""));
    }
    by_index_ = [this, bands](const Move& move) {
      return static_cast<std::size_t>(
                 std::max(0, program_.instructions[move.by.value].microbatch)) %
             bands;
    };
  }

  // Neighbouring layers share a band where there are more of them than colours.
  void by_layer(DeviceId device) {
    std::set<std::int32_t> layers;
    std::map<NameId, std::int64_t> parts;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.device != device || !of_microbatches(buffer)) continue;
      if (buffer.layer >= 0) layers.insert(buffer.layer);
      if (buffer.layer >= 0) continue;
      std::int64_t left = buffer.bytes.value;
      for (std::uint32_t i = buffer.first_part; i < buffer.first_part + buffer.parts; ++i) {
        parts[program_.parts[i].name] += program_.parts[i].bytes.value;
        left -= program_.parts[i].bytes.value;
      }
      if (left > 0) parts[buffer.name] += left;
    }
    const std::vector<std::int32_t> list(layers.begin(), layers.end());
    const std::size_t each = (list.size() + kBandInks - 1) / kBandInks;
    for (std::size_t i = 0; i < list.size(); i += each) {
      const std::size_t last = std::min(list.size(), i + each) - 1;
      for (std::size_t l = i; l <= last; ++l) layer_band_[list[l]] = names_.size();
      names_.push_back(last == i ? "layer " + std::to_string(list[i])
                                 : "layers " + std::to_string(list[i]) + " to " +
                                       std::to_string(list[last]));
    }
    if (list.empty()) return add_parts(parts);
    other_ = names_.size();
    if (!parts.empty()) names_.push_back("of no layer");
  }

  void add_parts(const std::map<NameId, std::int64_t>& parts) {
    std::vector<std::pair<NameId, std::int64_t>> largest(parts.begin(), parts.end());
    std::stable_sort(largest.begin(), largest.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const std::size_t own = largest.size() <= kBandInks ? largest.size() : kBandInks - 1;
    for (std::size_t i = 0; i < own; ++i) {
      part_band_[largest[i].first] = names_.size();
      names_.emplace_back(program_.name(largest[i].first));
    }
    other_ = names_.size();
    if (own < largest.size()) names_.push_back("other");
  }

  std::size_t part_band(NameId name) const {
    const auto found = part_band_.find(name);
    return found == part_band_.end() ? other_ : found->second;
  }

  std::int16_t wave_of(const Move& move) const { return program_.instructions[move.by.value].wave; }

  const Program& program_;
  std::vector<std::string> names_{"model state"};
  std::function<std::size_t(const Move&)> by_index_;  // empty: by layer or part
  std::map<std::int32_t, std::size_t> layer_band_;
  std::map<NameId, std::size_t> part_band_;
  std::size_t other_ = 0;
};

MemoryStack stack_in(const Bands& bands, const Experiment& e, MemoryStack stack,
                     const std::vector<Move>& moves) {
  const std::vector<MemoryWave::Sample>& samples = e.waves[stack.device.value].samples;
  for (std::size_t band = 0; band < bands.names().size(); ++band)
    stack.bands.push_back({bands.names()[band], band == 0 ? Ink::MemoryWeights : band_ink(band - 1),
                           std::vector<std::int64_t>(samples.size())});
  std::vector<std::int64_t> now(stack.bands.size());
  for (const Buffer& b : e.program.buffers)
    if (b.persistent && b.device == stack.device) now[0] += b.bytes.value;
  std::size_t next = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (; next < moves.size() && moves[next].at <= samples[i].at; ++next)
      bands.each(moves[next], [&](std::size_t band, std::int64_t bytes) {
        now[band] += moves[next].allocate ? bytes : -bytes;
      });
    for (std::size_t band = 0; band < now.size(); ++band) stack.bands[band].bytes[i] = now[band];
  }
  return stack;
}

}  // namespace

bool of_microbatches(const Buffer& buffer) {
  switch (buffer.category) {
    case Category::Framework:
    case Category::Weights:
    case Category::OptimizerState:
      return false;
    default:
      return !buffer.persistent;
  }
}

int wave_count(const Program& program) {
  int waves = 1;
  if (program.placement != Placement::Bidirectional)
    for (const Instruction& i : program.instructions) waves = std::max(waves, i.wave + 1);
  return waves;
}

MemoryStack memory_stack(const Experiment& e, DeviceId device, StackBy by) {
  const std::vector<Move> moves = moves_on(e, device);
  return stack_in(Bands(e.program, device, by, moves), e, {&e, device, by, {}}, moves);
}

MemoryStack memory_stack(const Experiment& e, DeviceId device, int waves) {
  return stack_in(Bands(e.program, waves), e, {&e, device, StackBy::Wave, {}}, moves_on(e, device));
}

std::shared_ptr<const MemoryStack> stack_of(const Experiment& e, DeviceId device,
                                            const ViewState& state) {
  const MemoryStack* kept = state.stack.get();
  if (kept != nullptr && kept->of == &e && kept->device == device && kept->by == state.stack_by)
    return state.stack;
  return std::make_shared<const MemoryStack>(memory_stack(e, device, state.stack_by));
}

std::string_view to_string(StackBy by) {
  switch (by) {
    case StackBy::Category:
      return "category";
    case StackBy::Layer:
      return "layer";
    case StackBy::Microbatch:
      return "microbatch";
    case StackBy::Wave:
      return "wave";
  }
  return "";
}

Ink band_ink(std::size_t band) {
  constexpr std::array<Ink, kBandInks> kInksOfBands = {
      Ink::WeightGradient, Ink::Communication, Ink::Backward, Ink::Optimizer,
      Ink::Forward,        Ink::Recompute,     Ink::Swap};
  return kInksOfBands[band % kBandInks];
}

}  // namespace trainyard
