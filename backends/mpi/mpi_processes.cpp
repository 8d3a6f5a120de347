#include "backends/mpi/mpi_processes.h"

#define OMPI_SKIP_MPICXX 1  // use the C interface; MPI has removed its C++ bindings
#include <fmt/format.h>
#include <malloc.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace trainyard {
namespace {

// Counts in MPI are ints.
int count_of(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(Error::Kind::Unsupported,
                fmt::format("expected at most 2 GiB in one message between processes, found {} "
                            "bytes; smaller layers or microbatches send less at once",
                            bytes));
  return static_cast<int>(bytes);
}

// What a collective sends to each process, or receives of it, side by side.
struct Counts {
  std::vector<int> count, at;
  std::size_t all = 0;

  explicit Counts(std::span<const std::size_t> bytes) {
    for (std::size_t of_one : bytes) {
      at.push_back(count_of(all));
      count.push_back(count_of(of_one));
      all += of_one;
    }
    count_of(all);
  }
};

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer() = default;
  explicit MpiTransfer(std::vector<Counts> counts) : counts_(std::move(counts)) {}
  ~MpiTransfer() override = default;
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  bool done() override {
    int flag = 1;
    if (request != MPI_REQUEST_NULL) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  const Counts& counts(std::size_t i) const { return counts_[i]; }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  std::vector<Counts> counts_;  // MPI reads them until it is done
};

class MpiAnnouncement final : public Transfer {
 public:
  MpiAnnouncement(int from, int number) : from_(from), number_(number) {}
  bool done() override {
    int flag = 0;
    MPI_Iprobe(from_, number_, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

 private:
  int from_, number_;
};

class MpiChannel final : public Channel {
 public:
  explicit MpiChannel(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm_, &place_); }
  ~MpiChannel() override { MPI_Comm_free(&comm_); }
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

  TransferPtr all_gather(const std::byte* mine, std::byte* all,
                         std::span<const std::size_t> bytes) override {
    auto made = std::make_unique<MpiTransfer>(std::vector{Counts(bytes)});
    const Counts& counts = made->counts(0);
    MPI_Iallgatherv(mine, counts.count[static_cast<std::size_t>(place_)], MPI_BYTE, all,
                    counts.count.data(), counts.at.data(), MPI_BYTE, comm_, &made->request);
    return made;
  }
  TransferPtr all_to_all(const std::byte* to, std::span<const std::size_t> to_bytes,
                         std::byte* from, std::span<const std::size_t> from_bytes) override {
    auto made = std::make_unique<MpiTransfer>(std::vector{Counts(to_bytes), Counts(from_bytes)});
    const Counts &out = made->counts(0), &in = made->counts(1);
    MPI_Ialltoallv(to, out.count.data(), out.at.data(), MPI_BYTE, from, in.count.data(),
                   in.at.data(), MPI_BYTE, comm_, &made->request);
    return made;
  }

 private:
  MPI_Comm comm_;
  int place_ = 0;
};

class MpiProcesses final : public Processes {
 public:
  MpiProcesses() {
    // There are often more processes than cores: one that waits lets the others run.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    // The C library maps buffers of 32 MiB and more anew each time, and the first touch of their
    // pages takes three times as long as the exchange. What was freed is kept for the next one.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    int given = 0;
    // Other threads compute, but only this one calls MPI.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    find_machines();
  }
  ~MpiProcesses() override { MPI_Finalize(); }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(count_));
    MpiTransfer known;
    MPI_Iallgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD,
                   &known.request);
    wait(known);
    std::vector<std::string> all(lengths.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool own = static_cast<int>(r) == rank_;
      all[r] = own ? mine : std::string(lengths[r], '\0');
      // Counts in MPI are ints, so longer data is sent in pieces.
      constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;
      for (std::uint64_t at = 0; at < lengths[r]; at += kPiece) {
        MpiTransfer piece;
        MPI_Ibcast(all[r].data() + at, static_cast<int>(std::min(kPiece, lengths[r] - at)),
                   MPI_BYTE, static_cast<int>(r), MPI_COMM_WORLD, &piece.request);
        wait(piece);
      }
    }
    return all;
  }

  std::unique_ptr<Channel> channel(const std::vector<int>& ranks) override {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return std::make_unique<MpiChannel>(made);
  }

  TransferPtr send(int to, int number, std::span<const std::byte> bytes) override {
    auto made = std::make_unique<MpiTransfer>();
    MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, to, number, MPI_COMM_WORLD,
              &made->request);
    return made;
  }
  TransferPtr receive(int from, int number, std::span<std::byte> bytes) override {
    auto made = std::make_unique<MpiTransfer>();
    MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, from, number, MPI_COMM_WORLD,
              &made->request);
    return made;
  }

  TransferPtr announcement(int from, int number) override {
    return std::make_unique<MpiAnnouncement>(from, number);
  }

  TransferPtr barrier() override {
    auto made = std::make_unique<MpiTransfer>();
    MPI_Ibarrier(MPI_COMM_WORLD, &made->request);
    return made;
  }

  void sum(std::span<double> values) override {
    MpiTransfer all;
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), count_of(values.size()), MPI_DOUBLE, MPI_SUM,
                   MPI_COMM_WORLD, &all.request);
    wait(all);
  }

  void rest(int polls) override {
    constexpr int kEager = 200;
    if (polls < kEager)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(polls < 100 * kEager ? 20 : 200));
    if (polls % 1000 == 999) expect_alive();
  }

  int on_this_machine() const override {
    return static_cast<int>(std::count_if(who_.begin(), who_.end(), [&](const Who& w) {
      return w.machine == who_[static_cast<std::size_t>(rank_)].machine;
    }));
  }

  [[noreturn]] void abandon(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  struct Who {
    std::string machine;
    pid_t process = 0;
  };

  void find_machines() {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    const std::string machine(name, static_cast<std::size_t>(length));
    const std::string own = fmt::format("{} {}", getpid(), machine);
    for (const std::string& one : all_gather(own)) {
      const std::size_t space = one.find(' ');
      who_.push_back({one.substr(space + 1), static_cast<pid_t>(std::stol(one.substr(0, space)))});
    }
  }

  // One on another machine is missed by MPI itself, which loses its connection.
  void expect_alive() const {
    for (std::size_t r = 0; r < who_.size(); ++r)
      if (who_[r].machine == who_[static_cast<std::size_t>(rank_)].machine &&
          kill(who_[r].process, 0) != 0 && errno == ESRCH)
        throw Error(Error::Kind::Io, fmt::format("rank {} (process {} on {}) has ended before the "
                                                 "run was done",
                                                 r, who_[r].process, who_[r].machine));
  }

  int rank_ = 0, count_ = 1;
  std::vector<Who> who_;
};

}  // namespace

std::unique_ptr<Processes> join_mpi_processes(int count, const std::string& launcher) {
  auto processes = std::make_unique<MpiProcesses>();
  if (processes->count() != count)
    throw Error(
        Error::Kind::Internal,
        fmt::format("{} started {} processes, and MPI sees {}; under Slurm, srun --mpi=pmix "
                    "lets them find each other",
                    launcher, count, processes->count()),
        {launcher});
  return processes;
}

}  // namespace trainyard
