// A SpanRecorder notes nested spans of a run that really happens, each thread into a buffer of its
// own. Code that may be recorded opens a RecordedSpan; while nobody records on its thread, this
// costs one branch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/timeline/nested_spans.h"

namespace trainyard {

class SpanRecorder {
 public:
  /// The buffer of one thread, which alone writes into it.
  class Thread {
   public:
    bool records(SpanLevel level) const { return levels_.has(level); }
    /// The name must stay valid until the recorder's finish().
    void begin(SpanLevel level, std::string_view name) { note(level, name, true); }
    void end(SpanLevel level) { note(level, {}, false); }
    bool in_span() const { return depth_ > 0; }
    bool is_of(const SpanRecorder& recorder) const { return &recorder == &recorder_; }

   private:
    friend class SpanRecorder;
    struct Noted {
      Instant at;
      const char* name;  // null at an end
      std::uint32_t letters;
      SpanLevel level;
      bool begins;
    };
    Thread(const SpanRecorder&, const Clock&, SpanLevels, std::size_t expected);
    void note(SpanLevel, std::string_view name, bool begins);

    const SpanRecorder& recorder_;
    const Clock& clock_;
    SpanLevels levels_;
    int depth_ = 0;
    std::vector<Noted> noted_;
  };

  /// Begins to record, and start() begins anew where nothing was recorded since. The clock must
  /// outlive the recorder. expected: events of one thread for which memory is prepared before the
  /// first of them, so that none waits for it.
  SpanRecorder(const Clock&, SpanLevels, std::size_t expected = 0);
  void start() { start_ = clock_.now(); }

  /// Returns the calling thread's buffer, which is made at the first call.
  Thread& of_this_thread();
  /// Ends the recording, so that what follows until finish() takes no part in it.
  void stop() { end_ = clock_.now(); }
  /// Ends the recording unless it was stopped, and returns what was recorded, with times since its
  /// begin. No thread may be in a span, and nothing may be recorded afterwards. Two threads that
  /// never ran at once may be one here if the system gave them the same id.
  NestedSpans finish();

 private:
  const Clock& clock_;
  SpanLevels levels_;
  std::size_t expected_;
  std::uint64_t number_;  // differs between all recorders of the process
  std::mutex mutex_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::map<std::thread::id, Thread*> by_id_;
  Instant start_{};
  std::optional<Instant> end_;
};

namespace span_detail {
/// The buffer into which spans of this thread go; null while nobody records.
inline constinit thread_local SpanRecorder::Thread* recording = nullptr;
}  // namespace span_detail

/// While it exists, spans of the calling thread go to the recorder. With null it changes nothing.
class RecordingThread {
 public:
  explicit RecordingThread(SpanRecorder* recorder) : before_(span_detail::recording) {
    if (recorder != nullptr && (before_ == nullptr || !before_->is_of(*recorder))) [[unlikely]]
      span_detail::recording = &recorder->of_this_thread();
  }
  ~RecordingThread() { span_detail::recording = before_; }
  RecordingThread(const RecordingThread&) = delete;
  RecordingThread& operator=(const RecordingThread&) = delete;
  /// Returns whether the calling thread, which must be recorded, is in a span.
  bool in_span() const { return span_detail::recording->in_span(); }

 private:
  SpanRecorder::Thread* before_;
};

/// A span from its construction to its destruction, where its thread and level are recorded.
class RecordedSpan {
 public:
  RecordedSpan(SpanLevel level, std::string_view name) : level_(level) {
    SpanRecorder::Thread* const thread = span_detail::recording;
    if (thread == nullptr) [[likely]]
      return;
    if (!thread->records(level)) return;
    thread_ = thread;
    thread->begin(level, name);
  }
  ~RecordedSpan() {
    if (thread_ != nullptr) [[unlikely]]
      thread_->end(level_);
  }
  RecordedSpan(const RecordedSpan&) = delete;
  RecordedSpan& operator=(const RecordedSpan&) = delete;

 private:
  SpanRecorder::Thread* thread_ = nullptr;
  SpanLevel level_;
};

}  // namespace trainyard
