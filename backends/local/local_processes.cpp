#include "backends/local/local_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "backends/local/launcher_words.h"
#include "backends/local/peer_socket.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// Messages between two ranks have their numbers as keys, and channels what lies below 0.
constexpr std::int64_t kLeaving = std::numeric_limits<std::int64_t>::min(), kFailing = kLeaving + 1;
std::int64_t key_of_channel(std::int64_t between_two) { return -1 - between_two; }

using Peers = std::vector<std::unique_ptr<PeerSocket>>;  // by rank; null: this one

void move_all(const Peers& peers) {
  for (const std::unique_ptr<PeerSocket>& peer : peers)
    if (peer != nullptr) peer->move();
}

class LocalTransfer final : public Transfer {
 public:
  explicit LocalTransfer(const Peers& peers) : peers_(peers) {}
  void add(std::shared_ptr<const Outgoing> message) { going_.push_back(std::move(message)); }
  void add(std::shared_ptr<const Incoming> message) { coming_.push_back(std::move(message)); }
  bool done() override {
    if (ended()) return true;
    move_all(peers_);
    return ended();
  }

 private:
  bool ended() const {
    return std::all_of(going_.begin(), going_.end(), [](const auto& m) { return m->gone(); }) &&
           std::all_of(coming_.begin(), coming_.end(), [](const auto& m) { return m->all; });
  }

  const Peers& peers_;
  std::vector<std::shared_ptr<const Outgoing>> going_;
  std::vector<std::shared_ptr<const Incoming>> coming_;
};

class LocalAnnouncement final : public Transfer {
 public:
  LocalAnnouncement(PeerSocket& from, int number) : from_(from), number_(number) {}
  bool done() override {
    if (!from_.announced(number_)) from_.move();
    return from_.announced(number_);
  }

 private:
  PeerSocket& from_;
  const int number_;
};

class LocalChannel final : public Channel {
 public:
  struct Member {
    int rank = 0;
    std::int64_t key = 0;  // that this process and the member know the channel by
  };
  LocalChannel(const Peers& peers, std::vector<Member> members, int own)
      : peers_(peers), members_(std::move(members)) {
    while (members_[place_].rank != own) ++place_;
  }

  TransferPtr all_gather(const std::byte* mine, std::byte* all,
                         std::span<const std::size_t> bytes) override {
    return exchange([&](std::size_t) { return std::span(mine, bytes[place_]); }, all, bytes);
  }
  TransferPtr all_to_all(const std::byte* to, std::span<const std::size_t> to_bytes,
                         std::byte* from, std::span<const std::size_t> from_bytes) override {
    return exchange(
        [&](std::size_t p) {
          return std::span(to + std::accumulate(to_bytes.begin(),
                                                to_bytes.begin() + static_cast<std::ptrdiff_t>(p),
                                                std::size_t{0}),
                           to_bytes[p]);
        },
        from, from_bytes);
  }

 private:
  template <class F>
  TransferPtr exchange(F&& to, std::byte* from, std::span<const std::size_t> from_bytes) {
    auto made = std::make_unique<LocalTransfer>(peers_);
    std::byte* at = from;
    for (std::size_t p = 0; p < members_.size(); ++p) {
      const std::span<const std::byte> out = to(p);
      if (p == place_) {
        if (!out.empty() && at != out.data()) std::memmove(at, out.data(), out.size());
      } else {
        PeerSocket& peer = *peers_[static_cast<std::size_t>(members_[p].rank)];
        made->add(peer.receive(members_[p].key, {at, from_bytes[p]}));
        made->add(peer.send(members_[p].key, out));
      }
      at += from_bytes[p];
    }
    return made;
  }

  const Peers& peers_;
  const std::vector<Member> members_;
  std::size_t place_ = 0;
};

int variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

class LocalProcesses final : public Processes {
 public:
  LocalProcesses()
      : rank_(variable(kLocalRank)),
        launcher_(variable(kLauncherSocket)),
        took_place_(variable(kTakesPlace)),
        survives_(variable(kSurvives) != 0),
        peers_(static_cast<std::size_t>(variable(kLocalRanks))),
        channels_(peers_.size(), 0) {
    fcntl(launcher_, F_SETFD, FD_CLOEXEC);
    // Without a launcher nobody would see one of them end: all stop as if they were asked to.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (std::size_t p = 1; p < peers_.size(); ++p) join_one();
    world_ = channel(all_ranks());
  }
  // A process that leaves while others work on would look like one that was lost.
  ~LocalProcesses() override {
    leaving_ = true;
    try {
      for (const std::unique_ptr<PeerSocket>& peer : peers_)
        if (peer != nullptr) peer->send(kLeaving, {});
      std::vector<std::shared_ptr<const Incoming>> left(peers_.size());
      for (std::size_t p = 0; p < peers_.size(); ++p)
        if (peers_[p] != nullptr) left[p] = peers_[p]->receive(kLeaving, {});
      const auto gone = [&](std::size_t p) {
        return peers_[p] == nullptr || peers_[p]->ended() || (left[p]->all && !peers_[p]->sends());
      };
      for (std::size_t p = 0; p < peers_.size(); ++p)
        for (int polls = 0; !gone(p); ++polls) rest(polls);
    } catch (const Error&) {
      return;  // the launcher ends all
    }
    tell(launcher_, RankWord{RankWord::Kind::Leaves});
    ::close(launcher_);
  }
  LocalProcesses(const LocalProcesses&) = delete;
  LocalProcesses& operator=(const LocalProcesses&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(peers_.size()); }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(peers_.size());
    const std::vector<std::size_t> each(peers_.size(), sizeof length);
    gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)), each);
    const std::vector<std::size_t> bytes(lengths.begin(), lengths.end());
    std::string together(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}), '\0');
    gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(together)), bytes);
    std::vector<std::string> all;
    std::size_t at = 0;
    for (const std::size_t one : bytes) {
      all.push_back(together.substr(at, one));
      at += one;
    }
    return all;
  }

  std::unique_ptr<Channel> channel(const std::vector<int>& ranks) override {
    // Two of its ranks make the channels that they share in one order, and count them alike.
    std::vector<LocalChannel::Member> members;
    for (const int rank : ranks)
      members.push_back(
          {rank, rank == rank_ ? 0 : key_of_channel(channels_[static_cast<std::size_t>(rank)]++)});
    return std::make_unique<LocalChannel>(peers_, std::move(members), rank_);
  }

  TransferPtr send(int to, int number, std::span<const std::byte> bytes) override {
    auto made = std::make_unique<LocalTransfer>(peers_);
    made->add(peer(to).send(number, bytes));
    return made;
  }
  TransferPtr receive(int from, int number, std::span<std::byte> bytes) override {
    auto made = std::make_unique<LocalTransfer>(peers_);
    made->add(peer(from).receive(number, bytes));
    return made;
  }
  TransferPtr announcement(int from, int number) override {
    return std::make_unique<LocalAnnouncement>(peer(from), number);
  }

  TransferPtr barrier() override {
    const std::vector<std::size_t> nothing(peers_.size(), 0);
    return world_->all_gather(nullptr, nullptr, nothing);
  }

  void sum(std::span<double> values) override {
    std::vector<double> all(values.size() * peers_.size());
    const std::vector<std::size_t> each(peers_.size(), values.size_bytes());
    gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)), each);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = all[i];
      for (std::size_t r = 1; r < peers_.size(); ++r) values[i] += all[r * values.size() + i];
    }
  }

  // One of them that ends unasked is seen by the launcher, which says so. Where it does not replace
  // it, it ends all.
  void rest(int polls) override {
    constexpr int kEager = 200, kMilliseconds = 1;
    move_all(peers_);
    if (survives_ && !leaving_) expect_all();
    if (polls < kEager) return std::this_thread::yield();
    std::vector<pollfd> looks;
    for (const std::unique_ptr<PeerSocket>& peer : peers_)
      if (peer != nullptr && !peer->ended())
        looks.push_back(
            {peer->descriptor(), static_cast<short>(peer->sends() ? POLLIN | POLLOUT : POLLIN), 0});
    ::poll(looks.data(), looks.size(), kMilliseconds);
  }

  int on_this_machine() const override { return count(); }

  [[noreturn]] void abandon(int exit_code) override {
    tell(launcher_, RankWord{RankWord::Kind::Abandons, exit_code});
    std::_Exit(exit_code);
  }

  bool replaces() const override { return true; }
  bool took_place() const override { return took_place_ != 0; }
  bool survives_losses() const override { return survives_; }
  bool took_place_unasked() const override { return took_place_ == 2; }
  void report_losses(bool on) override { reports_ = on; }
  void rejoin() override {
    for (std::unique_ptr<PeerSocket>& peer : peers_) peer.reset();
    for (std::size_t p = 1; p < peers_.size(); ++p) join_one();
    // A connection of one that was replaced before may still have waited here, in place of another.
    for (std::size_t p = 0; p < peers_.size(); ++p)
      if (peers_[p] == nullptr && static_cast<int>(p) != rank_)
        throw Error(Error::Kind::Io,
                    "a process was lost while another one took over from one that was lost before");
  }
  void replace(int rank) override {
    if (rank == rank_) {
      // The others are not to take it for one that is lost unasked.
      for (const std::unique_ptr<PeerSocket>& peer : peers_)
        if (peer != nullptr) peer->send(kFailing, {});
      while (std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) {
        return peer != nullptr && !peer->ended() && peer->sends();
      }))
        rest(0);
      tell(launcher_, RankWord{RankWord::Kind::Fails});
      for (;;) raise(SIGKILL);
    }
    for (int polls = 0; !peer(rank).ended(); ++polls) rest(polls);
    peers_[static_cast<std::size_t>(rank)].reset();
    join_one();
    if (peers_[static_cast<std::size_t>(rank)] == nullptr)
      throw Error(Error::Kind::Internal,
                  fmt::format("another process than rank {} was replaced", rank));
  }

 private:
  void expect_all() const {
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (peers_[p] == nullptr || !peers_[p]->ended() || peers_[p]->announced(kFailing)) continue;
      const PeerLost lost(static_cast<int>(p));
      if (reports_) throw lost;
      throw Error(Error::Kind::Io, lost.what());
    }
  }

  std::vector<int> all_ranks() const {
    std::vector<int> ranks(peers_.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  PeerSocket& peer(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }

  void join_one() {
    const std::optional<PeerWord> word = hear_peer(launcher_);
    if (!word) throw Error(Error::Kind::Io, "the process that has started this one has ended");
    peers_[static_cast<std::size_t>(word->rank)] =
        std::make_unique<PeerSocket>(word->descriptor, word->rank);
  }

  void gather(std::span<const std::byte> mine, std::span<std::byte> all,
              std::span<const std::size_t> bytes) {
    wait(*world_->all_gather(mine.data(), all.data(), bytes));
  }

  const int rank_, launcher_;
  const int took_place_;  // as kTakesPlace says it
  const bool survives_;
  bool reports_ = false, leaving_ = false;
  Peers peers_;
  std::vector<std::int64_t> channels_;  // that are shared with each rank
  std::unique_ptr<Channel> world_;
};

}  // namespace

std::unique_ptr<Processes> join_local_processes() { return std::make_unique<LocalProcesses>(); }

}  // namespace trainyard
