// This file has the two stores of a pickle's reader: values that it remembers by number, and values
// that do not belong to a container yet. Each may hold tens of millions of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "core/base/large_pages.h"
#include "core/io/snapshots/pickle_value.h"

namespace trainyard {

// PickleMemo holds the values that a pickle remembers by number. It grows in chunks, so that
// gigabytes of values are never moved.
class PickleMemo {
 public:
  std::size_t size() const { return size_; }
  PickleValue& operator[](std::size_t at) { return chunks_[at >> kShift][at & kMask]; }
  void push(const PickleValue& value) {
    resize(size_ + 1);
    (*this)[size_ - 1] = value;
  }
  void resize(std::size_t size) {
    while (chunks_.size() << kShift < size) chunks_.push_back(chunk());
    size_ = size;
  }

 private:
  struct Free {
    void operator()(PickleValue* values) const { std::free(values); }
  };
  using Chunk = std::unique_ptr<PickleValue[], Free>;
  static constexpr std::size_t kShift = 17, kMask = (std::size_t{1} << kShift) - 1;

  static Chunk chunk() {
    constexpr std::size_t kBytes = sizeof(PickleValue) << kShift;
    auto* const values = static_cast<PickleValue*>(std::aligned_alloc(kBytes, kBytes));
    if (values == nullptr) throw std::bad_alloc();
    ask_for_large_pages(values, kBytes);
    std::uninitialized_value_construct_n(values, kMask + 1);
    return Chunk(values);
  }
  std::vector<Chunk> chunks_;
  std::size_t size_ = 0;
};

// PickleStack holds values that do not belong to a container yet; it grows by many at a time.
class PickleStack {
 public:
  bool empty() const { return top_ == values_.get(); }
  std::size_t size() const { return static_cast<std::size_t>(top_ - values_.get()); }
  PickleValue* data() { return values_.get(); }
  PickleValue& operator[](std::size_t at) { return values_[at]; }
  PickleValue& back() { return top_[-1]; }
  PickleValue* end() { return top_; }
  /// Returns how many more values fit without growing.
  std::size_t room() const { return capacity_ - size(); }
  void push(const PickleValue& value) {
    if (room() == 0) grow();
    *top_++ = value;
  }
  void pop() { --top_; }
  /// `end` must be within the room.
  void end_at(PickleValue* end) { top_ = end; }
  /// `size` must be at most its current size.
  void shrink(std::size_t size) { top_ = values_.get() + size; }

 private:
  void grow() {
    const std::size_t held = size();
    capacity_ = std::max<std::size_t>(1024, 2 * capacity_);
    auto larger = std::make_unique<PickleValue[]>(capacity_);
    std::copy(values_.get(), top_, larger.get());
    values_ = std::move(larger);
    top_ = values_.get() + held;
  }
  std::unique_ptr<PickleValue[]> values_;
  PickleValue* top_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace trainyard
