#include "core/cost/generation.h"

#include <string_view>

namespace trainyard {

Generation generation(const Device& device) {
  struct Prefix {
    std::string_view id;
    Generation generation;
  };
  constexpr Prefix kPrefixes[] = {{"v100", Generation::Volta},      {"a100", Generation::Ampere},
                                  {"a800", Generation::Ampere},     {"h800", Generation::Hopper},
                                  {"h20", Generation::Hopper},      {"h100", Generation::Hopper},
                                  {"h200", Generation::Hopper},     {"gh200", Generation::Hopper},
                                  {"b100", Generation::Blackwell},  {"b200", Generation::Blackwell},
                                  {"gb200", Generation::Blackwell}, {"b300", Generation::Blackwell},
                                  {"gb300", Generation::Blackwell}, {"tpu", Generation::Tpu}};
  for (const Prefix& prefix : kPrefixes)
    if (device.id.starts_with(prefix.id)) return prefix.generation;
  return Generation::Other;
}

}  // namespace trainyard
