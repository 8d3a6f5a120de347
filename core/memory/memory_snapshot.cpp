#include "core/memory/memory_snapshot.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// Lines of these libraries say how memory is allocated, not what it is for.
bool of_library(std::string_view file) {
  return file.empty() || file == "??" || contains(file, "/torch/") ||
         contains(file, "/site-packages/") || contains(file, ".cpp") || contains(file, ".so") ||
         contains(file, "/c10/") || contains(file, "/aten/");
}

struct SnapshotBlock {
  Bytes bytes{};
  std::uint32_t stack = 0;
  Category category{};
};

struct SnapshotReplay {
  const MemorySnapshot& snapshot;
  std::vector<Category> categories;  // by stack
  std::unordered_map<std::uint64_t, SnapshotBlock> alive{};
  std::unordered_map<std::uint64_t, Bytes> mapped{};
  CategoryBytes held{};
  Bytes reserved{};

  explicit SnapshotReplay(const MemorySnapshot& s) : snapshot(s), categories(s.stacks.size()) {
    for (std::uint32_t i = 0; i < categories.size(); ++i) categories[i] = category_of(s, i);
  }

  Bytes& of(Category category) { return held[static_cast<std::size_t>(category)]; }

  // Applies an event and returns whether allocated or reserved memory changed.
  bool apply(const SnapshotEvent& e) {
    switch (e.action) {
      case SnapshotAction::Allocate: {
        if (alive.contains(e.address)) release(e.address);
        const SnapshotBlock block{e.bytes, e.stack, categories[e.stack]};
        alive[e.address] = block;
        of(block.category) += block.bytes;
        return true;
      }
      case SnapshotAction::Free:
        return release(e.address);
      case SnapshotAction::SegmentAllocate:
        reserved += e.bytes;
        return true;
      case SnapshotAction::SegmentFree:
        reserved -= std::min(reserved, e.bytes);
        return true;
      default:
        return false;
    }
  }

  bool release(std::uint64_t address) {
    const auto found = alive.find(address);
    if (found == alive.end()) return false;
    of(found->second.category) -= found->second.bytes;
    alive.erase(found);
    return true;
  }
};

// Before is what the device held before the first event. It follows from what the segments hold at
// the end.
struct Before {
  Bytes allocated{}, reserved{};
};

Before held_before(const MemorySnapshot& snapshot, int device,
                   const std::vector<SnapshotEvent>& events) {
  Bytes allocated{}, reserved{}, change{}, mapped{};
  bool any = false;
  for (const SnapshotSegment& segment : snapshot.segments) {
    if (segment.device != device) continue;
    any = true;
    allocated += segment.allocated;
    reserved += segment.reserved;
  }
  if (!any) return {};
  // A block that is freed but never allocated within the events was there before.
  std::unordered_map<std::uint64_t, Bytes> alive;
  Bytes freed_from_before{};
  for (const SnapshotEvent& e : events) {
    if (e.action == SnapshotAction::Allocate) {
      change += e.bytes;
      alive[e.address] = e.bytes;
    } else if (e.action == SnapshotAction::Free) {
      if (alive.erase(e.address) == 0) freed_from_before += e.bytes;
      change -= e.bytes;
    } else if (e.action == SnapshotAction::SegmentAllocate) {
      mapped += e.bytes;
    } else if (e.action == SnapshotAction::SegmentFree) {
      mapped -= e.bytes;
    }
  }
  // Blocks from before the events that were freed stay counted, because the snapshot does not say
  // when each was freed.
  return {std::max(Bytes{}, allocated - change - freed_from_before),
          std::max(Bytes{}, reserved - mapped)};
}

std::int64_t time_of(const SnapshotEvent& e, std::int64_t first, std::size_t number, bool timed) {
  return timed ? (e.time_us - first) * 1000 : static_cast<std::int64_t>(number + 1);
}

std::vector<SnapshotOwner> owners_of(const SnapshotReplay& replay, Bytes before) {
  std::map<std::pair<std::string, Category>, SnapshotOwner> owners;
  for (const auto& [address, block] : replay.alive) {
    std::string name = owner_of(replay.snapshot, block.stack);
    if (name.empty()) name = "no line is known";
    SnapshotOwner& owner = owners[{name, block.category}];
    owner.name = std::move(name);
    owner.category = block.category;
    owner.bytes += block.bytes;
    ++owner.blocks;
  }
  std::vector<SnapshotOwner> list;
  for (auto& [key, owner] : owners) list.push_back(std::move(owner));
  if (before.value > 0)
    list.push_back({"allocated before the recording began", Category::Weights, before, 0});
  std::stable_sort(list.begin(), list.end(), [](const SnapshotOwner& a, const SnapshotOwner& b) {
    return a.bytes > b.bytes;
  });
  return list;
}

}  // namespace

Category category_of(const MemorySnapshot& snapshot, std::uint32_t stack) {
  bool backward = false, update = false, forward = false, communicates = false, again = false;
  for (const std::uint32_t f : snapshot.stacks[stack]) {
    const SnapshotFrame& frame = snapshot.frames[f];
    communicates = communicates || contains(frame.file, "/distributed/") ||
                   contains(frame.function, "all_reduce") || contains(frame.function, "all_gather");
    update = update || contains(frame.file, "/optim") || frame.function == "_init_group";
    again = again || contains(frame.file, "checkpoint.py");
    backward = backward || frame.function == "backward" ||
               contains(frame.function, "AccumulateGrad") ||
               contains(frame.function, "_engine_run_backward");
    forward = forward || frame.function == "forward" || frame.function == "_call_impl";
  }
  const bool gradient = std::any_of(
      snapshot.stacks[stack].begin(), snapshot.stacks[stack].end(), [&](std::uint32_t f) {
        const std::string& function = snapshot.frames[f].function;
        return contains(function, "AccumulateGrad") || contains(function, "main_grad") ||
               contains(function, "grad_buffer");
      });
  if (gradient) return Category::Gradients;
  if (communicates) return Category::Communication;
  if (backward) return again && forward ? Category::Recomputed : Category::Workspace;
  if (update) return Category::OptimizerState;
  return forward ? Category::Activations : Category::Weights;
}

std::string owner_of(const MemorySnapshot& snapshot, std::uint32_t stack) {
  const std::vector<std::uint32_t>& frames = snapshot.stacks[stack];
  if (frames.empty()) return "";
  const auto own = std::find_if(frames.begin(), frames.end(), [&](std::uint32_t f) {
    return !of_library(snapshot.frames[f].file);
  });
  const SnapshotFrame& frame = snapshot.frames[own == frames.end() ? frames.front() : *own];
  const std::size_t slash = frame.file.rfind('/');
  const std::string file = slash == std::string::npos ? frame.file : frame.file.substr(slash + 1);
  return frame.function + " (" + file + ":" + std::to_string(frame.line) + ")";
}

SnapshotFindings snapshot_findings(const MemorySnapshot& snapshot, int device) {
  const auto refuse = [&](const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput, sentence, {snapshot.source});
  };
  if (device < 0 || static_cast<std::size_t>(device) >= snapshot.devices.size())
    refuse("expected a device from 0 to " + std::to_string(snapshot.devices.size()) +
           " exclusive, found " + std::to_string(device));
  const std::vector<SnapshotEvent>& events = snapshot.devices[static_cast<std::size_t>(device)];
  if (events.empty())
    refuse("expected what device " + std::to_string(device) +
           " allocated, found no event: record with torch.cuda.memory._record_memory_history()");
  const Before before = held_before(snapshot, device, events);
  SnapshotFindings found;
  SnapshotWave& w = found.wave;
  w.device = device;
  w.before = before.allocated;
  w.timed = events.front().time_us > 0 && events.back().time_us > events.front().time_us;
  SnapshotReplay replay(snapshot);
  replay.reserved = before.reserved;
  replay.of(Category::Weights) += before.allocated;
  w.wave.samples.push_back({Instant{0}, replay.held});
  w.reserved.push_back(std::max(replay.reserved, before.allocated));
  w.stacks.push_back(0);
  Bytes most = total(replay.held);
  std::size_t peak_event = 0;
  const std::int64_t first = events.front().time_us;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].action == SnapshotAction::OutOfMemory && w.asked_in_vain == Bytes{})
      w.asked_in_vain = events[i].bytes;
    if (!replay.apply(events[i])) continue;
    const Instant at = std::max(Instant{time_of(events[i], first, i, w.timed)},
                                w.wave.samples.back().at + Duration{1});
    w.wave.samples.push_back({at, replay.held});
    w.stacks.push_back(events[i].stack);
    // Where segments are not recorded, reserved memory is taken to be at least what is allocated.
    w.reserved.push_back(std::max(replay.reserved, total(replay.held)));
    if (const Bytes now = total(replay.held); now > most) {
      most = now;
      peak_event = i + 1;
      w.wave.peak = w.wave.samples.size() - 1;
    }
    if (w.reserved.back() > w.reserved[w.most_reserved]) w.most_reserved = w.reserved.size() - 1;
  }
  SnapshotReplay until(snapshot);
  for (std::size_t i = 0; i < peak_event; ++i) until.apply(events[i]);
  found.peak = owners_of(until, before.allocated);
  const Bytes reserved = w.reserved[w.most_reserved];
  const Bytes used = total(w.wave.samples[w.most_reserved].bytes);
  found.unused = reserved - used;
  found.used_share = reserved.value > 0 ? used / reserved : 1;
  return found;
}

int fullest_device(const MemorySnapshot& snapshot) {
  const auto recorded = [](const std::vector<SnapshotEvent>& events) { return !events.empty(); };
  const auto first = std::find_if(snapshot.devices.begin(), snapshot.devices.end(), recorded);
  if (first != snapshot.devices.end() && std::none_of(first + 1, snapshot.devices.end(), recorded))
    return static_cast<int>(first - snapshot.devices.begin());
  int fullest = 0;
  Bytes most{};
  for (std::size_t d = 0; d < snapshot.devices.size(); ++d) {
    if (snapshot.devices[d].empty()) continue;
    const SnapshotWave wave = snapshot_findings(snapshot, static_cast<int>(d)).wave;
    const Bytes peak = peak_of(wave.wave);
    if (peak > most) most = peak, fullest = static_cast<int>(d);
  }
  return fullest;
}

}  // namespace trainyard
