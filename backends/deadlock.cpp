#include "backends/deadlock.h"

#include <string>

namespace trainyard {

Error deadlock(const Program& program, std::span<const std::uint32_t> next) {
  std::string text = "no instruction can start and some are left; waiting:";
  int named = 0;
  for (std::size_t s = 0; s < program.streams.size(); ++s) {
    const Stream& stream = program.streams[s];
    if (next[s] >= stream.count) continue;
    if (++named > 16) {
      text += "\n  and more streams";
      break;
    }
    text += "\n  d" + std::to_string(stream.device.value) + "/" + stream.name + " at " +
            describe(program, InstructionId{stream.first + next[s]});
  }
  return {Error::Kind::InvalidInput, text, {"program"}};
}

}  // namespace trainyard
