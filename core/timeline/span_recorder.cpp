#include "core/timeline/span_recorder.h"

#include <atomic>
#include <cassert>
#include <utility>

#include "core/base/names.h"

namespace trainyard {

SpanRecorder::Thread::Thread(const SpanRecorder& recorder, const Clock& clock, SpanLevels levels,
                             std::size_t expected)
    : recorder_(recorder), clock_(clock), levels_(levels) {
  // Writing to it once makes the system give the memory now.
  noted_.resize(expected);
  noted_.clear();
}

void SpanRecorder::Thread::note(SpanLevel level, std::string_view name, bool begins) {
  // Records come in bursts, each of which would wait for memory that nothing has read for long.
  constexpr std::size_t kAhead = 32;
  if (noted_.capacity() - noted_.size() > kAhead)
    __builtin_prefetch(noted_.data() + noted_.size() + kAhead, 1);
  noted_.push_back(
      {clock_.now(), name.data(), static_cast<std::uint32_t>(name.size()), level, begins});
  depth_ += begins ? 1 : -1;
}

SpanRecorder::SpanRecorder(const Clock& clock, SpanLevels levels, std::size_t expected)
    : clock_(clock), levels_(levels), expected_(expected) {
  static std::atomic<std::uint64_t> made{0};
  number_ = made.fetch_add(1) + 1;
  of_this_thread();
  start();
}

SpanRecorder::Thread& SpanRecorder::of_this_thread() {
  thread_local std::pair<std::uint64_t, Thread*> latest{};
  if (latest.first == number_) return *latest.second;
  const std::scoped_lock lock(mutex_);
  Thread*& found = by_id_[std::this_thread::get_id()];
  if (found == nullptr) {
    threads_.push_back(std::unique_ptr<Thread>(new Thread(*this, clock_, levels_, expected_)));
    found = threads_.back().get();
  }
  latest = {number_, found};
  return *found;
}

NestedSpans SpanRecorder::finish() {
  if (!end_) stop();
  NestedSpans spans;
  spans.levels = levels_;
  spans.whole = {Instant{}, *end_ - start_};
  Names names;
  for (const std::unique_ptr<Thread>& thread : threads_) {
    assert(thread->depth_ == 0 && "a recording ends outside of all spans");
    std::vector<SpanEvent>& events = spans.threads.emplace_back();
    events.reserve(thread->noted_.size());
    std::vector<std::uint32_t> open;
    for (const Thread::Noted& noted : thread->noted_) {
      if (noted.begins)
        open.push_back(names.intern(std::string_view(noted.name, noted.letters)).value);
      events.push_back({noted.at - start_, open.back(), noted.level, noted.begins});
      if (!noted.begins) open.pop_back();
    }
  }
  for (std::uint32_t name = 0; name < names.size(); ++name)
    spans.names.emplace_back(names[NameId{name}]);
  return spans;
}

}  // namespace trainyard
