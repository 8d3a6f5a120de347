#include "app/desktop/session/journal_file.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/io/bytes/files.h"

namespace trainyard {
namespace {

// Beyond this size a new journal replaces the old one, since only the last entry counts.
constexpr qint64 kLongest = qint64{8} << 20;

[[noreturn]] void fail(const QString& path, const char* doing) {
  throw Error(Error::Kind::Io, std::string(doing) + ": " + std::strerror(errno),
              {path.toStdString()});
}

void write_all(int descriptor, std::string_view text, const QString& path) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(path, "writing the journal");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

// Returns whether no process holds the lock, so that its window is gone.
bool abandoned(const QString& path) {
  const int descriptor = ::open(path.toStdString().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return free;
}

}  // namespace

QString journal_folder() {
  QString state = qEnvironmentVariable("XDG_STATE_HOME");
  if (state.isEmpty() || QDir::isRelativePath(state)) state = QDir::homePath() + "/.local/state";
  return state + "/trainyard/journals";
}

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void JournalFile::open() {
  if (!QDir().mkpath(folder_)) fail(folder_, "making the folder of journals");
  std::string fresh = (folder_ + "/XXXXXX").toStdString();
  const int descriptor = ::mkostemp(fresh.data(), O_CLOEXEC | O_APPEND);
  if (descriptor < 0) fail(folder_, "making a journal");
  // It is locked before it gets the name for which others look, so that nobody takes it for
  // abandoned.
  const std::string path = fresh + ".journal";
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
    const int cause = errno;
    ::unlink(fresh.c_str());
    ::close(descriptor);
    errno = cause;
    fail(QString::fromStdString(path), "locking the journal");
  }
  descriptor_ = descriptor;
  path_ = QString::fromStdString(path);
  size_ = 0;
}

void JournalFile::append(const JournalEntry& entry) {
  const std::string line = journal_line(entry);
  const int old = size_ > kLongest ? descriptor_ : -1;
  const QString old_path = path_;
  if (descriptor_ < 0 || old >= 0) open();
  write_all(descriptor_, line, path_);
  if (::fdatasync(descriptor_) != 0) fail(path_, "flushing the journal");
  size_ += static_cast<qint64>(line.size());
  if (old >= 0) {
    ::unlink(old_path.toStdString().c_str());
    ::close(old);
  }
}

void JournalFile::discard() {
  if (descriptor_ < 0) return;
  ::unlink(path_.toStdString().c_str());
  ::close(descriptor_);
  descriptor_ = -1;
  path_.clear();
  size_ = 0;
}

std::vector<LostWork> lost_work(const QString& folder) {
  std::vector<LostWork> all;
  for (const QFileInfo& file :
       QDir(folder).entryInfoList({"*.journal"}, QDir::Files | QDir::NoSymLinks, QDir::Time)) {
    const QString path = file.absoluteFilePath();
    if (!abandoned(path)) continue;
    try {
      if (auto end = read_journal(read_file(path.toStdString())))
        all.push_back({path, std::move(*end)});
      else
        ::unlink(path.toStdString().c_str());
    } catch (const Error&) {
      // It cannot be read now; it stays for a later attempt.
    }
  }
  return all;
}

void forget(const LostWork& work) { ::unlink(work.journal.toStdString().c_str()); }

}  // namespace trainyard
