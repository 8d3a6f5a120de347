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

namespace {

// Fills a new file beside the path and renames it over the path.
void replace(const std::string& path, std::string_view content, const Descriptor& file,
             const std::string& beside) {
  const auto give_up = [&](const char* doing) {
    const int cause = errno;
    ::unlink(beside.c_str());
    errno = cause;
    fail(path, doing);
  };
  struct stat old{};
  const bool replaces = ::stat(path.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) errno = EISDIR, give_up("writing");
  ::fchmod(file.value, replaces ? old.st_mode & 07777 : 0644);
  while (!content.empty()) {
    const ssize_t put = ::write(file.value, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) give_up("writing");
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.value) != 0) give_up("flushing");
  if (::rename(beside.c_str(), path.c_str()) != 0) give_up("renaming");
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view content) {
  std::string beside = path + ".XXXXXX";
  const Descriptor file(::mkstemp(beside.data()));
  if (file.value < 0) fail(path, "writing beside it");
  replace(path, content, file, beside);
}

void write_file_through(const std::string& beside, const std::string& path,
                        std::string_view content) {
  constexpr int kFresh = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor file(::open(beside.c_str(), kFresh, 0600));
  if (file.value < 0) fail(path, "writing beside it");
  replace(path, content, file, beside);
}

}  // namespace trainyard
