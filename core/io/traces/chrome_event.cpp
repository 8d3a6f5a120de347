#include "core/io/traces/chrome_event.h"

#include <cmath>

#include "core/base/number_text.h"
#include "core/io/traces/trace_builder.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostNumbers = 64;  // most values of a counter

std::optional<double> finite_number(std::string_view text) {
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Returns the kind in Trainyard's own traces, by the letter of the phase.
RecordedKind kind_of_phase(std::string_view phase) {
  if (phase == "W") return RecordedKind::WeightGradient;
  if (phase == "U") return RecordedKind::Optimizer;
  return phase.starts_with("B") ? RecordedKind::Backward : RecordedKind::Forward;
}

}  // namespace

void clear(ChromeEvent& e) {
  for (std::string* text : {&e.name, &e.phase, &e.category, &e.time, &e.duration, &e.process,
                            &e.thread, &e.id, &e.arg_name, &e.arg_phase, &e.collective, &e.dtype,
                            &e.group, &e.group_ranks, &e.dims, &e.grid, &e.block})
    text->clear();
  e.operator_id = {};
  e.correlation = e.sort_index = e.device_id = e.device_type = e.elements = e.group_size = {};
  e.allocated = e.reserved = {};
  e.numbers.clear();
}

std::string* field_of(ChromeEvent& e, std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return &e.phase;
      if (key == "ts") return &e.time;
      if (key == "id") return &e.id;
      break;
    case 3:
      if (key == "cat") return &e.category;
      if (key == "dur") return &e.duration;
      if (key == "pid") return &e.process;
      if (key == "tid") return &e.thread;
      if (key == "id2") return &e.id;
      break;
    default:
      if (key == "name") return &e.name;
  }
  return nullptr;
}

void set_argument(ChromeEvent& e, std::string_view key, std::string_view text) {
  if ((e.phase.empty() || e.phase == "C") && e.numbers.size() < kMostNumbers)
    if (const auto value = finite_number(text)) e.numbers.emplace_back(key, *value);
  // Most arguments are not used; their length tells most of them apart quickly.
  switch (key.size()) {
    case 4:
      if (key == "name") e.arg_name.assign(text);
      break;
    case 5:
      if (key == "phase") e.arg_phase.assign(text);
      if (key == "dtype") e.dtype.assign(text);
      break;
    case 9:
      if (key == "Device Id") e.device_id = number_of<std::int64_t>(text);
      break;
    case 10:
      if (key == "sort_index") e.sort_index = number_of<std::int64_t>(text);
      if (key == "Group size") e.group_size = number_of<std::int64_t>(text);
      break;
    case 11:
      if (key == "correlation") e.correlation = number_of<std::int64_t>(text);
      if (key == "External id") e.operator_id = number_of<std::int64_t>(text);
      if (key == "Device Type") e.device_type = number_of<std::int64_t>(text);
      break;
    case 13:
      if (key == "In msg nelems") e.elements = number_of<std::int64_t>(text);
      break;
    case 14:
      if (key == "Total Reserved") e.reserved = finite_number(text);
      break;
    case 15:
      if (key == "Total Allocated") e.allocated = finite_number(text);
      if (key == "Collective name") e.collective.assign(text);
      break;
    case 18:
      if (key == "Process Group Name") e.group.assign(text);
      break;
    case 19:
      if (key == "Process Group Ranks") e.group_ranks.assign(text);
      break;
    default:
      break;
  }
}

std::string* list_of(ChromeEvent& e, std::string_view key) {
  if (key == "Input Dims") return &e.dims;
  if (key == "grid") return &e.grid;
  return key == "block" ? &e.block : nullptr;
}

std::string sizes_of(const ChromeEvent& e) {
  std::string sizes = e.dims;
  if (sizes.empty() && !e.grid.empty()) sizes = grid_words(e.grid, e.block);
  return sizes.size() > kLongestSizes ? std::string() : sizes;
}

ChromeEventKind kind_of(const ChromeEvent& e) {
  const std::string_view category = e.category;
  if (category == "kernel") return {kind_of_kernel(e.name), true};
  if (category == "gpu_memcpy" || category == "gpu_memset") return {RecordedKind::Transfer, true};
  if (category == "gpu_user_annotation") return {RecordedKind::Host, true, false, true};
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime")
    return {RecordedKind::Host, false, true};
  if (category == "compute") return {kind_of_phase(e.arg_phase), true};
  if (category == "collective" || category == "send" || category == "receive")
    return {RecordedKind::Communication, true};
  return {};
}

}  // namespace trainyard
