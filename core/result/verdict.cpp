#include "core/result/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/memory/process_bytes.h"
#include "core/result/peak_parts.h"

namespace trainyard {
namespace {

// The device with the least room at its peak.
std::size_t worst(const std::vector<MemoryWave>& waves, const std::vector<Bytes>& room) {
  std::size_t found = 0;
  for (std::size_t d = 1; d < waves.size(); ++d)
    if (room[d] - peak_of(waves[d]) < room[found] - peak_of(waves[found])) found = d;
  return found;
}

// Returns "activations of 11 microbatches make 60.3 GiB", for the category that is most of the
// peak.
std::string makers(const Program& program, const Timeline& timeline, const Verdict& verdict,
                   const CategoryBytes& bytes) {
  const auto largest = std::max_element(bytes.begin(), bytes.end());
  const auto category = static_cast<Category>(largest - bytes.begin());
  std::string name(to_string(category));
  std::replace(name.begin(), name.end(), '_', ' ');
  if (category == Category::Activations) {
    const int alive = microbatches_alive(program, timeline, verdict.worst_device, verdict.at);
    name += fmt::format(" of {} microbatch{}", alive, alive == 1 ? "" : "es");
  }
  const bool plural = name.back() == 's' || category == Category::Activations;
  return fmt::format("{} make{} {}", name, plural ? "" : "s", readable(*largest));
}

// Shares are of the time of all devices, like every figure that names no device.
std::string limit(const Breakdown& b) {
  if (b.sum() <= Duration{}) return "";
  const std::pair<std::string_view, Duration> losses[] = {
      {"bubble", b.bubble},
      {"the host that keeps what is offloaded", b.host},
      {"the allocator of nearly full memory", b.allocator},
      {"waiting for input", b.input},
      {"waiting for slower devices", b.slower},
      {"recomputation", b.recompute},
      {"optimizer", b.optimizer},
      {"tensor-parallel communication", b.tensor_parallel},
      {"context-parallel communication", b.context_parallel},
      {"expert-parallel communication", b.expert_parallel},
      {"pipeline transfers", b.pipeline},
      {"data-parallel communication", b.data_parallel}};
  const auto* most = &losses[0];
  for (const auto& loss : losses)
    if (loss.second > most->second) most = &loss;
  const double lost = share(b, most->second);
  if (lost < 0.05)
    return fmt::format("Limited by compute: {} of device time is forward and backward",
                       readable_share(share(b, b.forward + b.backward)));
  return fmt::format("Limited by {}: {} of device time", most->first, readable_share(lost));
}

}  // namespace

std::string_view to_string(FitWord word) {
  constexpr std::string_view kWords[] = {"fits", "may not fit", "does not fit"};
  return kWords[static_cast<std::size_t>(word)];
}

std::string headline(const Verdict& v, const Banded<Bytes>& peak) {
  const std::string by =
      v.margin.value >= 0 ? readable(v.margin) + " spare" : readable(-v.margin) + " over";
  if (v.word == FitWord::Fits) return "Fits: " + by;
  if (v.word == FitWord::DoesNotFit) return "Does not fit: " + by;
  return fmt::format("May not fit: {}, and the peak may be {} to {}", by, readable(peak.low),
                     readable(peak.high));
}

std::string held_of(Bytes peak, Bytes reserved) {
  if (reserved <= peak) return readable(peak);
  return fmt::format("{}, {} reserved,", readable(peak), readable(reserved));
}

Verdict judge(const Workload& workload, const Program& program, const Timeline& timeline,
              const std::vector<MemoryWave>& waves, const Breakdown& device_time, Bytes capacity,
              const std::vector<StageMemory>& memory) {
  Verdict verdict;
  verdict.limit = limit(device_time);
  if (waves.empty() || waves.front().samples.empty()) {
    verdict.margin = capacity;
    verdict.phase = "idle";
    verdict.where = "nothing is held.";
    verdict.sentence = "Fits: nothing is held.";
    return verdict;
  }
  std::vector<Bytes> room(waves.size(), capacity);
  if (is_mixed(workload.scenario.cluster)) room = capacities(workload);
  const std::size_t device = worst(waves, room);
  capacity = room[device];
  const MemoryWave::Sample& highest = waves[device].samples[waves[device].peak];
  const Bytes peak = total(highest.bytes);
  Bytes reserved = peak;
  for (const StageMemory& m : memory)
    if (m.device.value == device) reserved = std::max(reserved, m.reserved);
  verdict.margin = capacity - reserved;
  verdict.fits = verdict.margin.value >= 0;
  verdict.word = verdict.fits ? FitWord::Fits : FitWord::DoesNotFit;
  verdict.worst_device = DeviceId{static_cast<std::uint32_t>(device)};
  verdict.at = highest.at;
  const Doing doing = doing_at(program, timeline, verdict.worst_device, highest.at);
  verdict.phase = doing.phase;
  verdict.worst_stage = doing.stage;
  verdict.peak_parts =
      parts_alive_at(workload, program, timeline, verdict.worst_device, highest.at);
  verdict.where = fmt::format("on stage {} (device {}), {} at {}: {} of {}; {}.",
                              verdict.worst_stage.value, verdict.worst_device.value, verdict.phase,
                              readable(verdict.at), held_of(peak, reserved), readable(capacity),
                              makers(program, timeline, verdict, highest.bytes));
  verdict.sentence = headline(verdict, {reserved, reserved, reserved, ""}) + " " + verdict.where;
  return verdict;
}

}  // namespace trainyard
