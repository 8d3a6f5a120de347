#include "backends/local/local_launch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "backends/local/launcher_words.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

[[noreturn]] void fail_to(const std::string& what, int code) {
  throw Error(Error::Kind::Io, fmt::format("could not {}: {}", what, std::strerror(code)),
              {"--processes"});
}

// Two ends of a connection, each closed unless it is given away.
struct Connection {
  explicit Connection(int kind) {
    if (socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) != 0)
      fail_to("connect two processes", errno);
  }
  ~Connection() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int ends[2] = {-1, -1};
};

std::vector<std::string> words_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < bytes.size(); at += words.back().size() + 1)
    words.emplace_back(bytes.data() + at);
  return words;
}

// Variables of this process, but for those that are given anew.
std::vector<std::string> environment_with(std::vector<std::string> variables) {
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view one = *at;
    const std::string_view name = one.substr(0, one.find('=') + 1);
    if (std::none_of(variables.begin(), variables.end(),
                     [&](const std::string& other) { return other.starts_with(name); }))
      variables.emplace_back(one);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The signals that are handed on, and that of a process which has ended, wait here to be read.
class AwaitedSignals {
 public:
  AwaitedSignals() {
    sigemptyset(&awaited_);
    sigaddset(&awaited_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action{};
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&awaited_, signal);  // as nohup wants it
    }
    sigprocmask(SIG_BLOCK, &awaited_, &before_);
    descriptor_ = signalfd(-1, &awaited_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) fail_to("wait for processes", errno);
  }
  ~AwaitedSignals() {
    close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;

  int descriptor() const { return descriptor_; }
  const sigset_t& before() const { return before_; }
  /// Returns 0 where none is left.
  int next() const {
    signalfd_siginfo one{};
    return read(descriptor_, &one, sizeof one) == static_cast<ssize_t>(sizeof one)
               ? static_cast<int>(one.ssi_signo)
               : 0;
  }

 private:
  sigset_t awaited_{}, before_{};
  int descriptor_ = -1;
};

class LocalLauncher {
 public:
  LocalLauncher(int count, bool survives, std::ostream& err)
      : err_(err),
        survives_(survives),
        words_(words_of_this_process()),
        ranks_(static_cast<std::size_t>(count)) {}
  ~LocalLauncher() { end_all(); }
  LocalLauncher(const LocalLauncher&) = delete;
  LocalLauncher& operator=(const LocalLauncher&) = delete;

  int run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) start(r, Place::Own);
    connect_all();
    while (!over_ && std::any_of(ranks_.begin(), ranks_.end(),
                                 [](const Rank& rank) { return rank.process != 0; })) {
      pollfd look{signals_.descriptor(), POLLIN, 0};
      ::poll(&look, 1, -1);
      while (const int signal = signals_.next())
        if (signal == SIGCHLD)
          reap();
        else
          hand_on(signal);
    }
    if (over_) return *over_;
    for (const Rank& rank : ranks_)
      if (rank.exit != 0) return rank.exit;
    return 0;
  }

  /// Returns whether one was lost that was not replaced.
  bool lost() const { return lost_; }

 private:
  enum class Place { Own, Asked, Lost };  // whose a process takes: as kTakesPlace says it
  struct Rank {
    pid_t process = 0;  // 0: it has ended
    int socket = -1;    // to it
    int exit = 0;
  };

  // All are of one process group that no terminal sends signals to: what comes is handed on once.
  void start(std::size_t r, Place place) {
    Connection connection(SOCK_SEQPACKET);
    Rank& rank = ranks_[r];
    const int theirs = connection.ends[1];
    std::vector<std::string> variables = environment_with(
        {fmt::format("{}={}", kLocalRank, r), fmt::format("{}={}", kLocalRanks, ranks_.size()),
         fmt::format("{}={}", kLauncherSocket, theirs),
         fmt::format("{}={}", kTakesPlace, static_cast<int>(place)),
         fmt::format("{}={}", kSurvives, survives_ ? 1 : 0)});
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, theirs, theirs);  // which leaves it open there
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, &signals_.before());
    posix_spawnattr_setpgroup(&how, group_);
    const int failed = posix_spawn(&rank.process, kThisProgram, &files, &how,
                                   pointers_to(words_).data(), pointers_to(variables).data());
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
      rank.process = 0;
      fail_to(fmt::format("start the process of rank {}", r), failed);
    }
    if (group_ == 0) group_ = rank.process;
    if (rank.socket >= 0) close(rank.socket);
    rank.socket = std::exchange(connection.ends[0], -1);
  }

  // One that has ended meanwhile is reaped later.
  void connect(std::size_t a, std::size_t b) {
    const Connection connection(SOCK_STREAM);
    tell(ranks_[a].socket, PeerWord{static_cast<std::int32_t>(b), connection.ends[0]});
    tell(ranks_[b].socket, PeerWord{static_cast<std::int32_t>(a), connection.ends[1]});
  }

  void connect_all() {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t other = 0; other < r; ++other) connect(r, other);
  }

  void hand_on(int signal) {
    interrupted_ = signal;
    if (group_ != 0) kill(-group_, signal);
  }

  void reap() {
    for (std::size_t r = 0; r < ranks_.size() && !over_; ++r) {
      int status = 0;
      if (ranks_[r].process == 0 || waitpid(ranks_[r].process, &status, WNOHANG) <= 0) continue;
      const pid_t process = std::exchange(ranks_[r].process, 0);
      const std::optional<RankWord> word = hear_rank(ranks_[r].socket);
      if (!word)
        lose(r, process, status);
      else if (word->kind == RankWord::Kind::Abandons)
        over_ = word->exit;
      else if (word->kind == RankWord::Kind::Fails)
        replace(r);
      else
        ranks_[r].exit =
            WIFEXITED(status) ? WEXITSTATUS(status) : kSignalledBase + WTERMSIG(status);
    }
  }

  void replace(std::size_t r) {
    start(r, Place::Asked);
    for (std::size_t other = 0; other < ranks_.size(); ++other)
      if (other != r) connect(other, r);
  }

  void lose(std::size_t r, pid_t process, int status) {
    if (interrupted_ != 0) {
      over_ = kSignalledBase + interrupted_;
      return;
    }
    const bool replaced = survives_ && WIFSIGNALED(status) && replaced_ < kMostReplaced;
    err_ << fmt::format("rank {} (process {}) has ended before the run was done: {}{}\n", r,
                        process,
                        WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                            : fmt::format("exit code {}", WEXITSTATUS(status)),
                        replaced ? "; another process takes its place" : "");
    if (!replaced) {
      over_ = kFailedCode;
      lost_ = true;
      return;
    }
    ++replaced_;
    start(r, Place::Lost);
    connect_all();
  }

  void end_all() {
    for (Rank& rank : ranks_)
      if (rank.process != 0) kill(rank.process, SIGKILL);
    for (Rank& rank : ranks_) {
      if (rank.process != 0) waitpid(rank.process, nullptr, 0);
      if (rank.socket >= 0) close(rank.socket);
    }
  }

  static constexpr int kFailedCode = 1, kSignalledBase = 128;
  static constexpr int kMostReplaced = 100;  // a process that ends itself by a signal does it again

  std::ostream& err_;
  const bool survives_;
  std::vector<std::string> words_;
  const AwaitedSignals signals_;
  std::vector<Rank> ranks_;
  pid_t group_ = 0;
  int interrupted_ = 0;      // the last signal that was handed on
  std::optional<int> over_;  // the exit code, where not all have come to their end
  int replaced_ = 0;
  bool lost_ = false;
};

}  // namespace

int launch_processes(int count, bool survives, const std::function<std::string()>& goes_on,
                     std::ostream& err) {
  int code = 0;
  bool lost = false;
  {
    LocalLauncher launcher(count, survives, err);
    code = launcher.run();
    lost = launcher.lost();
  }
  if (lost) err << goes_on() << '\n';  // once nobody writes a checkpoint any more
  return code;
}

}  // namespace trainyard
