#include "core/io/bytes/file_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_writing(const std::string& path, const std::string& doing) {
  throw Error(Error::Kind::Io, doing + ": " + std::strerror(errno), Place{path});
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void fail_creating(const std::string& path, const std::string& target) {
  fail_writing(path, "cannot create a file in " + folder_of(target));
}

std::string kind_of(const struct stat& found) {
  switch (found.st_mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "no regular file";
  }
}

// Returns N for what /dev/fd/N, /dev/stdout and their like lead to. The file behind such a path may
// have other bytes before and after ours, so that it must not be replaced by its name.
std::optional<int> own_descriptor(const std::string& path) {
  std::error_code failed;
  const std::string name = fs::path(path).filename().string();
  if (name.empty() || name.size() > 6 || name.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const fs::path own = fs::canonical("/proc/self/fd", failed);
  if (failed || fs::canonical(folder_of(path), failed) != own) return std::nullopt;
  return std::stoi(name);
}

// What is to be written: the end of all symbolic links, which need not exist.
struct Target {
  std::string path;
  std::optional<int> own;            // a descriptor of this process
  std::optional<struct stat> there;  // nothing: the path is free
};

Target target_of(const std::string& path, FileWriter::Takes takes) {
  if (path.empty()) refuse("", "expected the path of a file, found an empty one");
  if (path.find('\0') != std::string::npos)
    refuse("", "expected the path of a file, found one with a zero byte");
  constexpr int kMostLinks = 40;  // as in the kernel
  const bool streams = takes == FileWriter::Takes::StreamsToo;
  Target target{path, {}, {}};
  for (int links = 0;; ++links) {
    target.own = own_descriptor(target.path);
    std::error_code none;
    const fs::path next = fs::read_symlink(target.path, none);
    if (target.own || none) break;
    if (links == kMostLinks) refuse(path, "expected a file, found links that lead in a circle");
    target.path = fs::path(target.path).parent_path() / next;
  }
  if (target.own && !streams) refuse(path, "expected a regular file, found an open stream");
  struct stat found{};
  if (::stat(target.path.c_str(), &found) != 0) return target;
  const bool taken = S_ISREG(found.st_mode) ||
                     (streams && (target.own || S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode)));
  if (!taken) refuse(path, "expected a regular file, found " + kind_of(found));
  target.there = found;
  // Replacing needs no permission for the file, only for its folder, but protected is protected.
  if (!target.own && ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
    fail_writing(path, "expected a file that may be written");
  return target;
}

bool is_stream(const Target& target) {
  return target.own || (target.there && !S_ISREG(target.there->st_mode));
}

std::string beside_of(const std::string& path) {
  constexpr std::size_t kMost = 200;  // a name has at most 255 bytes, with ours around it
  const fs::path file(path);
  const std::string name = "." + file.filename().string().substr(0, kMost) + ".trainyard-new";
  return (file.parent_path() / name).string();
}

bool has_name(int descriptor, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool locked(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

int created(const std::string& path, mode_t mode) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

// Some file systems of clusters know no locks. There each writer takes a name of its own.
int created_without_locks(std::string& beside, mode_t mode) {
  const std::string first = beside + "." + std::to_string(::getpid()) + ".";
  for (int i = 0;; ++i) {
    beside = first + std::to_string(i);
    const int descriptor = created(beside, mode);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// Creates the file that this writer alone fills. Whoever fills it holds its lock until it has got
// its final name; one whose lock is free was left by a writer that was killed, and is removed.
int created_alone(std::string& beside, mode_t mode) {
  while (true) {
    int descriptor = created(beside, mode);
    const bool is_new = descriptor >= 0;
    if (!is_new && errno != EEXIST) return -1;
    if (!is_new)
      descriptor = ::open(beside.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT) continue;
    if (descriptor < 0) return -1;
    if (!locked(descriptor)) {
      ::close(descriptor);
      if (is_new) ::unlink(beside.c_str());
      return created_without_locks(beside, mode);
    }
    // While this waited, the name may have gone to another file.
    const bool ours = has_name(descriptor, beside);
    if (ours && is_new) return descriptor;
    const int removed = ours ? ::unlink(beside.c_str()) : 0;
    const int cause = errno;
    ::close(descriptor);
    errno = cause;
    if (removed != 0) return -1;
  }
}

void keep_owner_and_permissions(int descriptor, const struct stat& old) {
  // Only root may give a file away; for others it stays theirs.
  [[maybe_unused]] const int given = ::fchown(descriptor, old.st_uid, old.st_gid);
  ::fchmod(descriptor, old.st_mode & 0777);
}

// Some file systems cannot flush a folder, and some folders may be written but not read.
bool flushed_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return true;
  const bool flushed = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int cause = errno;
  ::close(descriptor);
  errno = cause;
  return flushed;
}

void write_whole(const std::string& path, std::string_view content, FileWriter::Takes takes) {
  FileWriter file(path, takes);
  file.write(content);
  file.finish();
}

}  // namespace

FileWriter::FileWriter(const std::string& path, Takes takes) : path_(path) {
  const Target target = target_of(path, takes);
  target_ = target.path;
  if (target.own) {
    descriptor_ = ::fcntl(*target.own, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail_writing(path, "writing failed");
    return;
  }
  if (is_stream(target)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail_writing(path, "writing failed");
    return;
  }
  std::string beside = beside_of(target_);
  descriptor_ = created_alone(beside, target.there ? 0600 : 0666);
  if (descriptor_ < 0) fail_creating(path, target_);
  beside_ = std::move(beside);
  if (target.there) keep_owner_and_permissions(descriptor_, *target.there);
}

FileWriter::~FileWriter() { close(); }

void FileWriter::close() {
  // The name goes before the lock does.
  if (!beside_.empty()) ::unlink(std::exchange(beside_, {}).c_str());
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void FileWriter::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(descriptor_, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_writing(path_, "writing failed");
    content.remove_prefix(static_cast<std::size_t>(put));
  }
}

void FileWriter::finish() {
  if (!beside_.empty()) {
    if (::fsync(descriptor_) != 0) fail_writing(path_, "flushing failed");
    if (::rename(beside_.c_str(), target_.c_str()) != 0) fail_writing(path_, "renaming failed");
    beside_.clear();
    if (!flushed_folder(folder_of(target_)))
      fail_writing(path_, "the file was replaced, and flushing its folder failed");
  }
  close();
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_whole(path, content, FileWriter::Takes::Files);
}

void write_file(const std::string& path, std::string_view content) {
  write_whole(path, content, FileWriter::Takes::StreamsToo);
}

void expect_writable(const std::string& path, FileWriter::Takes takes) {
  const Target target = target_of(path, takes);
  if (is_stream(target)) return;
  if (::faccessat(AT_FDCWD, folder_of(target.path).c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    fail_creating(path, target.path);
}

}  // namespace trainyard
