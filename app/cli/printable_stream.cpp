#include "app/cli/printable_stream.h"

#include <algorithm>
#include <string_view>

#include "core/base/printable.h"

namespace trainyard {
namespace {

// How many bytes at the end of the text begin a UTF-8 sequence that goes on after it.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

PrintableBuffer::~PrintableBuffer() {
  if (!begun_.empty()) target_ << printable(begun_);
}

std::streamsize PrintableBuffer::xsputn(const char* text, std::streamsize size) {
  begun_.append(text, static_cast<std::size_t>(size));
  const std::size_t whole = begun_.size() - unfinished(begun_);
  target_ << printable(std::string_view(begun_).substr(0, whole));
  begun_.erase(0, whole);
  return target_ ? size : 0;
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

int PrintableBuffer::sync() { return target_.flush() ? 0 : -1; }

}  // namespace trainyard
