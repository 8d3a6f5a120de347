// Scratch is memory that a kernel needs only while it runs (tiles, packed operands, oneDNN's
// scratchpad). Each worker thread has its own, which grows to the largest amount ever taken; it is
// not part of a device's arena and is reported separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

class Scratch {
 public:
  /// Takes bytes aligned to 64, valid until the Frame that was open at the call ends. They are not
  /// cleared.
  void* take(std::size_t bytes);
  float* floats(std::int64_t count) {
    return static_cast<float*>(take(static_cast<std::size_t>(count) * sizeof(float)));
  }
  Bytes most() const;  // taken at any one time

  /// On destruction, a Frame releases everything taken since its construction.
  class Frame {
   public:
    explicit Frame(Scratch&);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Scratch& scratch_;
    std::size_t chunk_, used_, before_;
  };

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Chunk {
    std::unique_ptr<std::byte, Free> data;
    std::size_t size = 0;
  };
  std::vector<Chunk> chunks_;         // pointers stay valid when a chunk is added
  std::size_t chunk_ = 0, used_ = 0;  // where the next allocation lies
  std::size_t before_ = 0;            // taken in chunks before that one
  std::size_t most_ = 0;
};

}  // namespace trainyard
