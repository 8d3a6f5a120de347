// A Trickle gives a text a few bytes at a time, to test readers for which that must make no
// difference.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/io/bytes/byte_source.h"

namespace trainyard {

class Trickle : public ByteSource {
 public:
  /// most: the most bytes per read. The text must outlive it.
  Trickle(std::string_view text, std::size_t most) : text_(text), most_(most) {}
  std::size_t read(char* block, std::size_t size) override {
    const std::size_t got = std::min({size, most_, text_.size()});
    if (got > 0) std::memcpy(block, text_.data(), got);
    text_.remove_prefix(got);
    return got;
  }
  double share() const override { return 0; }

 private:
  std::string_view text_;
  std::size_t most_;
};

}  // namespace trainyard
