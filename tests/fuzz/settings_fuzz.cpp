// Lines of key=value: what a setting accepts, it must give back, and giving it back must be
// accepted.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/methods/settings/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Plan plan;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      apply_setting(plan, line);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::InvalidInput) std::abort();
    }
  }
  for (const Setting& one : settings()) {
    const std::string value = one.read(plan);
    if (value.empty()) continue;
    Plan again = plan;
    apply_setting(again, one.key, value);
    if (one.read(again) != value) std::abort();
  }
  return 0;
}
