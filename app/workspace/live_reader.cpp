#include "app/workspace/live_reader.h"

#include <algorithm>
#include <iterator>

namespace trainyard {
namespace {

constexpr std::size_t kNewest = 20;  // steps: what one of them does not change

Duration median(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

LiveReader::LiveReader(RunModel& model)
    : model_(model), memory_(static_cast<std::size_t>(model.predicted->program.devices)) {
  model_.spans.assign(model_.predicted->program.instructions.size(), kUnmeasured);
  model_.waves.assign(memory_.size(), {});
}

void LiveReader::take(const std::vector<LiveSpan>& spans, const std::vector<LiveMemory>& memory,
                      const std::vector<LiveStep>& steps) {
  for (const LiveSpan& s : spans) {
    if (s.peer != 0) continue;
    const auto [at, added] = begin_.try_emplace(s.repetition, s.span.start);
    if (!added) at->second = std::min(at->second, s.span.start);
  }
  for (const LiveMemory& m : memory)
    if (m.peer == 0 && m.device.value < memory_.size()) memory_[m.device.value].push_back(m);
  if (!begin_.empty()) {
    const auto newest = std::prev(begin_.end());
    if (newest != begin_.begin()) {
      const auto before = std::prev(newest);
      show_spans(spans, before->first);
      show_waves(before->second, newest->second);
      begin_.erase(begin_.begin(), newest);
    }
    show_spans(spans, begin_.rbegin()->first);
  }
  for (const LiveStep& step : steps) {
    model_.losses.push_back(step.loss);
    step_times_.push_back(step.at - last_step_);
    if (step_times_.size() > kNewest) step_times_.erase(step_times_.begin());
    last_step_ = step.at;
  }
  if (!steps.empty()) model_.step = median(step_times_);
}

void LiveReader::show_spans(const std::vector<LiveSpan>& spans, std::int32_t repetition) {
  const Instant begin = begin_.at(repetition);
  for (const LiveSpan& s : spans)
    if (s.repetition == repetition && s.peer == 0 && s.instruction.value < model_.spans.size())
      model_.spans[s.instruction.value] = {s.span.start - begin, s.span.end - begin};
}

void LiveReader::show_waves(Instant from, Instant to) {
  for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
    std::vector<LiveMemory>& list = memory_[rank];
    MemoryWave wave;
    std::size_t used = 0;
    for (; used < list.size() && list[used].at < to; ++used) {
      const LiveMemory& m = list[used];
      const Instant at = std::max(Instant{0}, m.at - from);  // what was held before it holds at 0
      if (wave.samples.empty() || at > wave.samples.back().at)
        wave.samples.push_back({at, m.bytes});
      else
        wave.samples.back().bytes = m.bytes;
    }
    if (wave.samples.empty()) continue;
    wave.samples.front().at = Instant{0};
    for (std::size_t i = 0; i < wave.samples.size(); ++i)
      if (total(wave.samples[i].bytes) > total(wave.samples[wave.peak].bytes)) wave.peak = i;
    model_.waves[rank] = std::move(wave);
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(used - 1));
  }
}

}  // namespace trainyard
