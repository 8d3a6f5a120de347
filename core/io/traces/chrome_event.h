// A ChromeEvent is one event of a Chrome trace as its writer spelled it: the fields that say when
// and where, and those of its arguments that are used here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

struct ChromeEvent {
  std::string name, phase, category, time, duration, process, thread, id;
  std::string arg_name, arg_phase;  // from the arguments of a name or a step
  std::optional<std::int64_t> correlation, sort_index, device_id, device_type;
  std::string collective, dtype, group, group_ranks;  // of a kernel of communication
  std::optional<std::int64_t> elements, group_size;
  std::optional<std::int64_t> operator_id;  // External id
  std::string dims, grid, block;            // lists as they stand, without spaces: "[128,1,1]"
  std::optional<double> allocated, reserved;
  std::vector<std::pair<std::string, double>> numbers;  // values of a counter
};
/// Makes the event empty but keeps the memory of its texts.
void clear(ChromeEvent&);

/// Returns where the text of the field with that key ("ts") is stored; null for a field that is not
/// used.
std::string* field_of(ChromeEvent&, std::string_view key);
/// Stores an argument if its key is used. The event's phase must be known, because the values of a
/// counter may have any key.
void set_argument(ChromeEvent&, std::string_view key, std::string_view text);

/// Returns where the text of an argument that is a list is stored; null for one that is not used.
std::string* list_of(ChromeEvent&, std::string_view key);
/// Sizes of more bytes than these are taken for none: an optimizer lists all tensors of a model,
/// which no other operator repeats.
inline constexpr std::size_t kLongestSizes = 1024;
/// Returns what the event states of the sizes of its work: those of its inputs, else its grid;
/// empty where it states none.
std::string sizes_of(const ChromeEvent&);

/// ChromeEventKind is what category, name and arguments say of an event.
struct ChromeEventKind {
  RecordedKind kind = RecordedKind::Host;
  bool device = false, launches = false, annotations = false;
};
ChromeEventKind kind_of(const ChromeEvent&);

}  // namespace trainyard
