// A Draft is a Program being written: instructions are appended to whichever stream they belong to,
// and refer to each other by stream and position until all are there. finish() turns it into the
// flat Program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// An instruction of a draft.
struct Ref {
  std::uint32_t stream = 0xFFFFFFFFu, position = 0;
  bool valid() const { return stream != 0xFFFFFFFFu; }
  friend bool operator==(Ref, Ref) = default;
};

/// The instructions for which something waits, each once. A Refs is made and copied for every
/// instruction of a program, and there are few in almost all of them: these lie in slots that are
/// not initialised. More of them, as where many waves share a device, lie apart.
class Refs {
 public:
  Refs() {}
  Refs(const Refs& other) { *this = other; }
  Refs& operator=(const Refs& other) {
    count_ = other.count_;
    for (std::uint32_t i = 0; i < count_; ++i) slots_.refs[i] = other.slots_.refs[i];
    if (this != &other) many_ = other.many_ ? std::make_unique<Many>(*other.many_) : nullptr;
    return *this;
  }
  ~Refs() = default;

  void add(Ref ref) {
    if (!ref.valid() || std::find(begin(), end(), ref) != end()) return;
    if (many_)
      many_->push_back(ref);
    else if (count_ < kFew)
      slots_.refs[count_++] = ref;
    else
      (many_ = std::make_unique<Many>(begin(), end()))->push_back(ref);
  }
  void add(const Refs& more) {
    for (Ref r : more) add(r);
  }
  const Ref* begin() const { return many_ ? many_->data() : slots_.refs; }
  const Ref* end() const { return many_ ? many_->data() + many_->size() : slots_.refs + count_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t kFew = 12;
  using Many = std::vector<Ref>;
  std::uint32_t count_ = 0;  // in slots
  union Slots {
    Slots() {}
    Ref refs[kFew];  // only the first count_ are initialised
  } slots_;
  std::unique_ptr<Many> many_;  // all of them, where the slots do not hold them
};

class Draft {
 public:
  /// The tables of the program being written: tasks, buffers, names. finish() writes streams and
  /// instructions.
  Program program;

  /// Adds a stream; finish() drops streams that stay empty.
  std::uint32_t stream(DeviceId, std::string name, bool compute, Duration delay = {});
  Ref add(std::uint32_t stream, TaskId, std::int32_t microbatch, const Refs& after,
          std::int16_t wave = 0, std::int16_t weights = 0);
  /// Sets everything for which an instruction waits that was added without; call it at most once,
  /// before finish().
  void after(Ref instruction, const Refs&);
  /// Adds one more instruction to wait for; may be called until finish().
  void wait(Ref instruction, Ref after) { late_.push_back({instruction, after}); }
  void pair(Ref send, Ref receive);

  NameId name(std::string_view text) { return program.names.intern(text); }
  TaskId task(const Task&);
  BufferId buffer(const Buffer&);
  /// Appends to the task that was added last.
  void work(TaskId, const Work&, int count, Pass, bool recomputed, OperatorPlace = {});
  void effect(TaskId, BufferId, bool allocate, bool at_end);

  /// The first thing that no program may have, in words: a reference to an instruction, task,
  /// buffer or name that is not there, or one end of a transfer whose other end knows nothing of
  /// it. Empty where all is sound. For debug builds: it looks at everything.
  std::string first_wrong() const;

  Program finish();

 private:
  struct Item {
    TaskId task;
    std::int32_t microbatch;
    std::int16_t wave, weights;
    std::uint32_t first_after, afters;
    Ref peer;
  };
  struct Line {
    Stream stream;
    std::vector<Item> items;
  };
  struct Late {
    Ref instruction, after;
  };
  bool is_there(Ref ref) const {
    return ref.stream < lines_.size() && ref.position < lines_[ref.stream].items.size();
  }

  std::vector<Line> lines_;
  std::vector<Ref> after_;
  std::vector<Late> late_;
};

}  // namespace trainyard
