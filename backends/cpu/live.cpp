#include "backends/cpu/live.h"

namespace trainyard {

LiveSink::LiveSink(int workers, std::size_t capacity) {
  for (int worker = 0; worker < workers; ++worker) {
    spans_.push_back(std::make_unique<LiveQueue<LiveSpan>>(capacity));
    memory_.push_back(std::make_unique<LiveQueue<LiveMemory>>(capacity));
  }
}

void LiveSink::drain(std::vector<LiveSpan>& spans, std::vector<LiveMemory>& memory,
                     std::vector<LiveStep>& steps) {
  for (auto& queue : spans_) queue->drain(spans);
  for (auto& queue : memory_) queue->drain(memory);
  steps_.drain(steps);
}

std::uint64_t LiveSink::lost() const {
  std::uint64_t lost = steps_.lost();
  for (const auto& queue : spans_) lost += queue->lost();
  for (const auto& queue : memory_) lost += queue->lost();
  return lost;
}

}  // namespace trainyard
