#include "core/io/bytes/file_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class FileWriting : public ::testing::Test {
 protected:
  FileWriting() {
    std::string name = (fs::temp_directory_path() / "trainyard-writing-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileWriting() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string refused(const std::string& path) const {
    return testing::refusal([&] { write_file_atomically(path, "x"); });
  }
  mode_t mode(const std::string& name) const {
    struct stat found{};
    EXPECT_EQ(::lstat(at(name).c_str(), &found), 0);
    return found.st_mode;
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// A device that is there for one test: were it replaced, no machine would break.
class Terminal {
 public:
  Terminal() : screen_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_EQ(::grantpt(screen_) | ::unlockpt(screen_), 0);
    path_ = ::ptsname(screen_);
    held_ = ::open(path_.c_str(), O_RDWR | O_NOCTTY);  // what was shown stays until it is read
  }
  ~Terminal() { ::close(screen_), ::close(held_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  const std::string& path() const { return path_; }
  int screen() const { return screen_; }

 private:
  int screen_, held_ = -1;
  std::string path_;
};

using Names = std::vector<std::string>;
const std::string kHidden = ".x.trainyard-new";

TEST_F(FileWriting, WhatIsWrittenIsRead) {
  const std::string content("a\0b\n", 4);
  write_file_atomically(at("x"), content);
  EXPECT_EQ(read_file(at("x")), content);
  write_file_atomically(at("x"), "");
  EXPECT_EQ(read_file(at("x")), "");
  EXPECT_EQ(names(), Names{"x"});
  const std::string longest(255, 'n');
  write_file_atomically(at(longest), "long");
  EXPECT_EQ(read_file(at(longest)), "long");
}

TEST_F(FileWriting, WhatIsNoFileIsRefusedAndStays) {
  ::mkfifo(at("pipe").c_str(), 0600);
  fs::create_directory(at("folder"));
  fs::create_symlink("pipe", at("link"));
  fs::create_symlink("round", at("round"));
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Names before = names();
  const std::string expected = ": expected a regular file, found ";
  EXPECT_EQ(refused(at("pipe")), at("pipe") + expected + "a pipe");
  EXPECT_EQ(refused(at("link")), at("link") + expected + "a pipe");
  EXPECT_EQ(refused(at("folder")), at("folder") + expected + "a folder");
  EXPECT_EQ(refused(at("socket")), at("socket") + expected + "a socket");
  const Terminal terminal;
  EXPECT_EQ(refused(terminal.path()), terminal.path() + expected + "a character device");
  EXPECT_EQ(refused("/dev/stdout"), "/dev/stdout" + expected + "an open stream");
  EXPECT_EQ(refused(at("round")),
            at("round") + ": expected a file, found links that lead in a circle");
  EXPECT_EQ(refused(""), "expected the path of a file, found an empty one");
  for (const char* name : {"socket", "folder"})
    EXPECT_EQ(testing::refusal([&] { write_file(at(name), "x"); }), refused(at(name)));
  for (const char* name : {"pipe", "folder", "round"})
    EXPECT_EQ(testing::refusal([&] { expect_writable(at(name)); }), refused(at(name)));
  EXPECT_EQ(testing::refusal([&] { expect_writable(at("free")); }), "accepted");
  EXPECT_TRUE(S_ISFIFO(mode("pipe")));
  EXPECT_EQ(names(), before);
  ::close(listener);
}

TEST_F(FileWriting, AFolderThatIsMissingIsNamed) {
  const auto failure = [&](auto write) {
    try {
      write(at("none/x"));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Io);
      return describe(error);
    }
    return std::string("accepted");
  };
  const std::string sentence =
      at("none/x") + ": cannot create a file in " + at("none") + ": No such file or directory";
  EXPECT_EQ(failure([](const std::string& path) { write_file_atomically(path, "x"); }), sentence);
  EXPECT_EQ(failure([](const std::string& path) { expect_writable(path); }), sentence);
}

TEST_F(FileWriting, StreamsAreWrittenToAndStay) {
  const auto read_from = [](int descriptor) {
    std::array<char, 16> got{};
    const ssize_t count = ::read(descriptor, got.data(), got.size());
    return std::string(got.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
  };
  const Terminal terminal;
  write_file(terminal.path(), "shown");
  EXPECT_EQ(read_from(terminal.screen()), "shown");
  ::mkfifo(at("pipe").c_str(), 0600);
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file(at("pipe"), "through");
  EXPECT_EQ(read_from(reader), "through");
  ::close(reader);
  EXPECT_TRUE(S_ISFIFO(mode("pipe")));
}

// What is open has bytes of others before and after ours.
TEST_F(FileWriting, AnOpenDescriptorIsWrittenThrough) {
  const int open = ::open(at("x").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(open, "a", 1), 1);
  fs::create_symlink("/dev/fd/" + std::to_string(open), at("link"));
  write_file(at("link"), "b");
  write_file("/proc/self/fd/" + std::to_string(open), "c");
  ASSERT_EQ(::write(open, "d", 1), 1);
  ::close(open);
  EXPECT_EQ(read_file(at("x")), "abcd");
}

TEST_F(FileWriting, TheEndOfALinkIsReplaced) {
  fs::create_directory(at("folder"));
  fs::create_symlink("folder/x", at("dangling"));
  fs::create_symlink(at("dangling"), at("chain"));
  write_file_atomically(at("chain"), "1");
  EXPECT_EQ(read_file(at("folder/x")), "1");
  write_file_atomically(at("chain"), "2");
  EXPECT_EQ(read_file(at("folder/x")), "2");
  EXPECT_TRUE(fs::is_symlink(at("chain")));
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(names(), (Names{"chain", "dangling", "folder"}));
}

TEST_F(FileWriting, AnotherNameOfTheOldFileKeepsTheOldBytes) {
  write_file_atomically(at("x"), "old");
  fs::create_hard_link(at("x"), at("other"));
  write_file_atomically(at("x"), "new");
  EXPECT_EQ(read_file(at("x")), "new");
  EXPECT_EQ(read_file(at("other")), "old");
}

TEST_F(FileWriting, PermissionsAreKeptAndNewOnesFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(at("x"), "x");
  ::umask(before);
  EXPECT_EQ(mode("x") & 07777, 0640u);
  for (const mode_t kept : {0600u, 0664u, 0755u}) {
    ::chmod(at("x").c_str(), kept);
    write_file_atomically(at("x"), "x");
    EXPECT_EQ(mode("x") & 07777, kept);
  }
}

TEST_F(FileWriting, AnUnfinishedWriteLeavesTheOldFileAndNothingElse) {
  write_file_atomically(at("x"), "old");
  {
    FileWriter file(at("x"));
    file.write("half");
    EXPECT_EQ(names(), (Names{kHidden, "x"}));
  }
  EXPECT_EQ(read_file(at("x")), "old");
  EXPECT_EQ(names(), Names{"x"});
}

TEST_F(FileWriting, WhatAKilledWriterLeftGoesWithTheNextWrite) {
  write_file_atomically(at("x"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    FileWriter file(at("x"));
    file.write("half");
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(names(), (Names{kHidden, "x"}));
  EXPECT_EQ(read_file(at("x")), "old");
  write_file_atomically(at("x"), "new");
  EXPECT_EQ(read_file(at("x")), "new");
  EXPECT_EQ(names(), Names{"x"});
}

// Threads and processes write one path, a file and a link to it: each write succeeds, and the file
// is always one of those written.
TEST_F(FileWriting, WritersOfOnePathWaitForEachOther) {
  fs::create_symlink("x", at("link"));
  const auto writes = [&](int writer) {
    const std::string content(std::size_t{5000} * static_cast<std::size_t>(writer + 1),
                              static_cast<char>('a' + writer));
    for (int i = 0; i < 30; ++i) {
      write_file_atomically(at(writer % 2 == 0 ? "x" : "link"), content);
      const std::string found = read_file(at("x"));
      const auto other = static_cast<std::size_t>(found.front() - 'a');
      if (found != std::string(5000 * (other + 1), found.front())) return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int writer = 0; writer < 3; ++writer) {
    children.push_back(::fork());
    if (children.back() == 0) {
      try {
        ::_exit(writes(writer) ? 0 : 1);
      } catch (...) {
        ::_exit(2);
      }
    }
  }
  {
    std::jthread beside([&] { EXPECT_TRUE(writes(3)); });
    EXPECT_TRUE(writes(4));
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(names(), (Names{"link", "x"}));
}

}  // namespace
}  // namespace trainyard
