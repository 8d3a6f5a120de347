// One event of a Chrome trace as its writer spelled it: the fields that say when and where, and of
// its arguments those that mean something here.
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
  std::string arg_name, arg_phase;  // of a name's or a step's arguments
  std::optional<std::int64_t> correlation, sort_index, device_id, device_type;
  std::optional<double> allocated, reserved;
  std::vector<std::pair<std::string, double>> numbers;  // of a counter
};
/// As new, but with the room that its texts have.
void clear(ChromeEvent&);

/// Where the text of the field with that key belongs ("ts"); null for one that says nothing here.
std::string* field_of(ChromeEvent&, std::string_view key);
/// Keeps what an argument of that key says, if it says anything. Its phase is asked for: the
/// numbers of a counter have any key.
void set_argument(ChromeEvent&, std::string_view key, std::string_view text);

/// What category, name and arguments say of it.
struct ChromeEventKind {
  RecordedKind kind = RecordedKind::Host;
  bool device = false, launches = false, annotations = false;
};
ChromeEventKind kind_of(const ChromeEvent&);

}  // namespace trainyard
