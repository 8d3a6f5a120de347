#include "app/workspace/runs/live_reader.h"
#include "core/base/median.h"

#include <algorithm>
#include <iterator>

namespace trainyard {
namespace {

constexpr std::size_t kNewest = 20;  // number of steps, so that one more does not change much

// What was held before a step is held at its start.
void append(MemoryWave& wave, const LiveMemory& m, Instant from) {
  const Instant at = std::max(Instant{0}, m.at - from);
  if (wave.samples.empty())
    wave.samples.push_back({Instant{0}, m.bytes});
  else if (at > wave.samples.back().at)
    wave.samples.push_back({at, m.bytes});
  else
    wave.samples.back().bytes = m.bytes;
}

void find_peak(MemoryWave& wave) {
  wave.peak = 0;
  for (std::size_t i = 0; i < wave.samples.size(); ++i)
    if (total(wave.samples[i].bytes) > total(wave.samples[wave.peak].bytes)) wave.peak = i;
}

}  // namespace

LiveReader::LiveReader(RunModel& model)
    : model_(model), memory_(static_cast<std::size_t>(model.predicted->program.devices)) {
  model_.spans.assign(model_.predicted->program.instructions.size(), kUnmeasured);
  model_.waves.assign(memory_.size(), {});
  repetitions_.assign(model_.spans.size(), -1);
  raised_.assign(memory_.size(), 0);
}

void LiveReader::take(const std::vector<LiveSpan>& spans, const std::vector<LiveMemory>& memory,
                      const std::vector<LiveStep>& steps) {
  // Events that arrive after their step has ended are dropped, because the current step has taken
  // its place.
  const std::int32_t under_way = begin_.empty() ? 0 : begin_.rbegin()->first;
  for (const LiveSpan& s : spans) {
    if (s.peer != 0 || s.repetition < under_way) continue;
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
      end_step(before->first);
      show_waves(before->second, newest->second);
      begin_.erase(begin_.begin(), newest);
    }
    if (!model_.now) model_.now = RunNow{{}, alone_, std::vector<MemoryWave>(memory_.size())};
    show_spans(spans, begin_.rbegin()->first);
    if (model_.now->alone) raise_waves(begin_.rbegin()->second);
  }
  for (const LiveStep& step : steps) {
    model_.losses.push_back(step.loss);
    if (step.orthogonality) model_.orthogonality.push_back(*step.orthogonality);
    if (step.energy_sent) model_.energy_sent.push_back(*step.energy_sent);
    step_times_.push_back(step.at - last_step_);
    if (step_times_.size() > kNewest) step_times_.erase(step_times_.begin());
    last_step_ = step.at;
  }
  if (!steps.empty()) model_.step = median(step_times_);
}

// Called when the next step begins.
void LiveReader::end_step(std::int32_t repetition) {
  if (std::all_of(repetitions_.begin(), repetitions_.end(),
                  [&](std::int32_t of) { return of == repetition; }))
    whole_ = model_.spans;
  model_.now.reset();
  std::fill(raised_.begin(), raised_.end(), std::size_t{0});
  if (!alone_) return;
  std::fill(model_.spans.begin(), model_.spans.end(), kUnmeasured);
  std::fill(repetitions_.begin(), repetitions_.end(), -1);
}

void LiveReader::show_spans(const std::vector<LiveSpan>& spans, std::int32_t repetition) {
  const Instant begin = begin_.at(repetition);
  for (const LiveSpan& s : spans) {
    if (s.repetition != repetition || s.peer != 0 || s.instruction.value >= model_.spans.size())
      continue;
    model_.spans[s.instruction.value] = {s.span.start - begin, s.span.end - begin};
    repetitions_[s.instruction.value] = repetition;
    if (model_.now) model_.now->at = std::max(model_.now->at, s.span.end - begin);
  }
}

void LiveReader::show_waves(Instant from, Instant to) {
  for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
    std::vector<LiveMemory>& list = memory_[rank];
    MemoryWave wave;
    std::size_t used = 0;
    for (; used < list.size() && list[used].at < to; ++used) append(wave, list[used], from);
    if (wave.samples.empty()) continue;
    find_peak(wave);
    model_.waves[rank] = std::move(wave);
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(used - 1));
  }
}

void LiveReader::raise_waves(Instant from) {
  for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
    MemoryWave& wave = model_.now->waves[rank];
    for (; raised_[rank] < memory_[rank].size(); ++raised_[rank]) {
      append(wave, memory_[rank][raised_[rank]], from);
      const std::size_t last = wave.samples.size() - 1;
      if (wave.peak == last)
        find_peak(wave);  // the running peak has changed
      else if (total(wave.samples[last].bytes) > total(wave.samples[wave.peak].bytes))
        wave.peak = last;
    }
  }
}

}  // namespace trainyard
