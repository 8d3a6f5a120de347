#include "core/io/bytes/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_head.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

struct Descriptor {
  int value;
  explicit Descriptor(int opened) : value(opened) {}
  Descriptor(Descriptor&& other) noexcept : value(std::exchange(other.value, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

[[noreturn]] void fail(const std::string& path, const std::string& doing) {
  throw Error(Error::Kind::Io, doing + " failed: " + std::strerror(errno), Place{path});
}

std::string nearest_in_folder(const std::string& path) {
  std::error_code ignored;
  const fs::path file(path);
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(file.has_parent_path() ? file.parent_path() : ".", ignored)) {
    names.push_back(entry.path().filename().string());
    if (names.size() == 1000) break;
  }
  std::sort(names.begin(), names.end());
  return did_you_mean(file.filename().string(), names);
}

}  // namespace

namespace {

// Opens the file, requires it to be an ordinary one, and sets its size.
Descriptor opened(const std::string& path, Bytes& size) {
  if (path.find('\0') != std::string::npos)
    refuse("", "expected the path of a file, found one with a zero byte");
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0 && errno == ENOENT)
    refuse(path, "expected a file, found nothing there" + nearest_in_folder(path));
  if (file.value < 0)
    refuse(path, std::string("expected a file that can be read: ") + std::strerror(errno));
  struct stat info{};
  if (::fstat(file.value, &info) != 0) fail(path, "reading");
  if (S_ISDIR(info.st_mode)) refuse(path, "expected a file, found a folder");
  if (!S_ISREG(info.st_mode))
    refuse(path, "expected an ordinary file, found a device, pipe or socket");
  size = Bytes{info.st_size};
  return file;
}

std::string read_bytes(const std::string& path, const Descriptor& file, std::int64_t count) {
  std::string content(static_cast<std::size_t>(count), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(file.value, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "reading");
    if (got == 0) break;  // the file shrank meanwhile; what was read is the content
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

}  // namespace

std::string read_file(const std::string& path, Bytes limit) {
  Bytes size{};
  const Descriptor file = opened(path, size);
  if (size > limit)
    refuse(path, "expected at most " + readable(limit) + ", found " + readable(size));
  return read_bytes(path, file, size.value);
}

FileHead read_file_head(const std::string& path, Bytes most) {
  Bytes size{};
  const Descriptor file = opened(path, size);
  return {read_bytes(path, file, std::min(size, most).value), size};
}

}  // namespace trainyard
