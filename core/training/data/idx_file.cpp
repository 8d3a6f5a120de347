#include "core/training/data/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr unsigned char kUnsignedByte = 8;

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

std::string gunzip(std::string_view compressed, Bytes most, const std::string& name) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK)
    throw Error(Error::Kind::Io, "zlib could not start", Place{name});
  const std::unique_ptr<z_stream, EndInflate> end(&stream);
  // zlib's input pointer is not const, although zlib does not write through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  std::size_t left = compressed.size();
  std::string content;
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && left > 0) {
      stream.avail_in =
          static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
      left -= stream.avail_in;
    }
    const std::size_t before = content.size();
    content.resize(before + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + before);
    stream.avail_out = static_cast<uInt>(kPiece);
    state = inflate(&stream, Z_NO_FLUSH);
    content.resize(before + kPiece - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      refuse(name, fmt::format("expected a gzip file, found one that is {}: {}",
                               before == 0 ? "none or damaged" : "damaged",
                               stream.msg == nullptr ? "bad data" : stream.msg));
    if (state != Z_STREAM_END && stream.avail_in == 0 && left == 0 && stream.avail_out > 0)
      refuse(name, "expected a whole gzip file, found one that is cut off");
    if (content.size() > static_cast<std::size_t>(most.value))
      refuse(name, "expected at most " + readable(most) + " unpacked, found more");
  }
  if (left + stream.avail_in > 0)
    refuse(name, fmt::format("expected the end of a gzip file, found {} more bytes",
                             left + stream.avail_in));
  return content;
}

IdxArray parse_idx(std::string content, const std::string& name) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(content[i]); };
  if (content.size() < 4 || byte(0) != 0 || byte(1) != 0)
    refuse(name,
           "expected an IDX file, which starts with two zero bytes, a type and a number of "
           "dimensions");
  if (byte(2) != kUnsignedByte)
    refuse(name,
           fmt::format("expected IDX elements of type 8 (unsigned bytes), found type {}", byte(2)));
  const std::size_t rank = byte(3), header = 4 + 4 * rank;
  if (rank < 1 || rank > 4)
    refuse(name, fmt::format("expected an IDX array of 1 to 4 dimensions, found {}", rank));
  if (content.size() < header) refuse(name, "expected the sizes of an IDX array, found its end");
  IdxArray array;
  std::size_t elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | byte(4 + 4 * d + i);
    array.shape.push_back(static_cast<std::int64_t>(size));
    elements = size != 0 && elements > content.size() / size ? content.size() + 1 : elements * size;
  }
  if (elements != content.size() - header)
    refuse(name, fmt::format("expected {} elements after the header of an IDX array of {}, found "
                             "{} bytes",
                             elements > content.size() ? "more" : std::to_string(elements),
                             fmt::join(array.shape, " x "), content.size() - header));
  content.erase(0, header);
  array.bytes = std::move(content);
  return array;
}

}  // namespace trainyard
