#include "backends/cpu/kernels/scratch.h"

#include <algorithm>
#include <new>

namespace trainyard {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kSmallest = std::size_t{1} << 16;

}  // namespace

void Scratch::Free::operator()(std::byte* p) const {
  ::operator delete(p, std::align_val_t{kAlign});
}

void* Scratch::take(std::size_t bytes) {
  bytes = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size) {
    before_ += used_;
    used_ = 0;
    ++chunk_;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t size =
        std::max({bytes, kSmallest, chunks_.empty() ? 0 : 2 * chunks_.back().size});
    Chunk made;
    made.data.reset(static_cast<std::byte*>(::operator new(size, std::align_val_t{kAlign})));
    made.size = size;
    chunks_.push_back(std::move(made));
  }
  std::byte* const taken = chunks_[chunk_].data.get() + used_;
  used_ += bytes;
  most_ = std::max(most_, before_ + used_);
  return taken;
}

Bytes Scratch::most() const { return Bytes{static_cast<std::int64_t>(most_)}; }

Scratch::Frame::Frame(Scratch& scratch)
    : scratch_(scratch), chunk_(scratch.chunk_), used_(scratch.used_), before_(scratch.before_) {}

Scratch::Frame::~Frame() {
  scratch_.chunk_ = chunk_, scratch_.used_ = used_, scratch_.before_ = before_;
  // If nothing is taken, keeps only the last chunk, which is larger than all before it together.
  if (chunk_ == 0 && used_ == 0 && scratch_.chunks_.size() > 1)
    scratch_.chunks_.erase(scratch_.chunks_.begin(), scratch_.chunks_.end() - 1);
}

}  // namespace trainyard
