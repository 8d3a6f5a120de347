#include "core/io/bytes/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_head.h"
#include "core/io/bytes/limits.h"

namespace trainyard {
namespace {

class PackedFile : public ByteSource {
 public:
  explicit PackedFile(const std::string& path) : path_(path) {
    size_ = static_cast<double>(read_file_head(path, Bytes{}).file.value);
    file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr)
      refuse(path_, std::string("expected a file that can be read: ") + std::strerror(errno));
    gzbuffer(file_, 1 << 18);
  }
  ~PackedFile() override { gzclose(file_); }
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  std::size_t read(char* block, std::size_t size) override {
    const int got =
        gzread(file_, block, static_cast<unsigned>(std::min(size, std::size_t{1} << 30)));
    int code = Z_OK;
    const char* words = gzerror(file_, &code);
    if (code == Z_ERRNO)
      throw Error(Error::Kind::Io, std::string("reading failed: ") + std::strerror(errno), {path_});
    // What can be unpacked of a file that was cut short is read; the parser reports that the text
    // ends early.
    if (got < 0 && code == Z_BUF_ERROR) return 0;
    if (got < 0)
      throw Error(Error::Kind::InvalidInput,
                  std::string("expected a whole gzip file, found one that is broken: ") + words,
                  {path_});
    expect_in_proportion(static_cast<std::int64_t>(got));
    return static_cast<std::size_t>(got);
  }

  double share() const override {
    return size_ > 0 ? std::min(1.0, static_cast<double>(gzoffset(file_)) / size_) : 1;
  }

 private:
  void expect_in_proportion(std::int64_t got) {
    unpacked_ += Bytes{got};
    if (unpacked_ <= kFreelyUnpacked || unpacked_.value / kMostUnpacked <= gzoffset(file_)) return;
    throw Error(Error::Kind::InvalidInput,
                "expected gzip that unpacks to at most " + std::to_string(kMostUnpacked) +
                    " times its size, found " + readable(Bytes{gzoffset(file_)}) +
                    " that unpack to " + readable(unpacked_) + " and more",
                {path_});
  }

  std::string path_;
  gzFile file_ = nullptr;
  Bytes unpacked_{};
  double size_ = 0;
};

class TextBytes : public ByteSource {
 public:
  explicit TextBytes(std::string_view text) : text_(text) {}
  std::size_t read(char* block, std::size_t size) override {
    const std::size_t got = std::min(size, text_.size() - done_);
    if (got > 0) std::memcpy(block, text_.data() + done_, got);
    done_ += got;
    return got;
  }
  double share() const override {
    return text_.empty() ? 1 : static_cast<double>(done_) / static_cast<double>(text_.size());
  }

 private:
  std::string_view text_;
  std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> file_bytes(const std::string& path) {
  return std::make_unique<PackedFile>(path);
}

std::unique_ptr<ByteSource> text_bytes(std::string_view text) {
  return std::make_unique<TextBytes>(text);
}

}  // namespace trainyard
