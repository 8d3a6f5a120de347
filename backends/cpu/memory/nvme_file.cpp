#include "backends/cpu/memory/nvme_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string folder() {
  const char* stated = std::getenv("TMPDIR");
  return stated != nullptr && *stated != '\0' ? stated : "/tmp";
}

// Calls move(done) until all bytes have moved; it returns how many more it moved, or -1.
// Returns 0, or the code of the error; a file that ends early is an EIO.
template <class Move>
int move_all(std::size_t bytes, const Move& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t more = move(done);
    if (more > 0)
      done += static_cast<std::size_t>(more);
    else if (more == 0 || errno != EINTR)
      return more == 0 ? EIO : errno;
  }
  return 0;
}

}  // namespace

NvmeFile::NvmeFile(std::string name, Bytes size) : name_(std::move(name)), size_(size) {
  std::string path = folder() + "/trainyard-nvme-XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) fail("be made in " + folder(), errno);
  unlink(path.c_str());
  if (size.value == 0) return;
  if (const int code = posix_fallocate(file_, 0, size.value); code != 0) {
    close(file_);
    fail("have its room in " + folder(), code);
  }
}

NvmeFile::~NvmeFile() { close(file_); }

void NvmeFile::fail(const std::string& did, int code) const {
  throw Error(Error::Kind::Io, "a file of " + readable(size_) + " for " + name_ + " cannot " + did +
                                   ": " + std::generic_category().message(code) +
                                   "; TMPDIR may name another folder, and offload-tier=host needs "
                                   "no file");
}

void NvmeFile::expect_inside(Bytes at, std::size_t count) const {
  if (at.value >= 0 && at.value + static_cast<std::int64_t>(count) <= size_.value) return;
  throw Error(Error::Kind::Internal, name_ + " holds " + to_text(size_) + ", and " +
                                         std::to_string(count) + " bytes at " + to_text(at) +
                                         " were asked for");
}

void NvmeFile::read(Bytes from, std::span<std::byte> into) const {
  expect_inside(from, into.size());
  const int code = move_all(into.size(), [&](std::size_t done) {
    return pread(file_, into.data() + done, into.size() - done,
                 from.value + static_cast<off_t>(done));
  });
  if (code != 0) fail("be read", code);
}

void NvmeFile::write(Bytes at, std::span<const std::byte> from) {
  expect_inside(at, from.size());
  const int code = move_all(from.size(), [&](std::size_t done) {
    return pwrite(file_, from.data() + done, from.size() - done,
                  at.value + static_cast<off_t>(done));
  });
  if (code != 0) fail("be written", code);
}

}  // namespace trainyard
