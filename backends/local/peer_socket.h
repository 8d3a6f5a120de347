// A PeerSocket carries messages between two processes of one machine over a Unix-domain stream
// socket. Nothing of it blocks, and it reads while it has something to send, so that two processes
// may send each other more than the socket holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace trainyard {

/// A message that is sent. Its bytes must stay until all of it has left.
struct Outgoing {
  std::array<std::byte, 16> head{};  // key and length
  std::span<const std::byte> bytes;
  std::size_t sent = 0;  // of both
  bool gone() const { return sent == head.size() + bytes.size(); }
};

/// A message that comes, or that somebody waits for.
struct Incoming {
  std::span<std::byte> wanted;  // where its bytes go; must stay until all are there
  std::vector<std::byte> held;  // those of a message that came before anybody asked for it
  std::size_t come = 0, length = 0;
  bool asked = false;
  bool all = false;  // of its bytes are there
};

class PeerSocket {
 public:
  /// Owns the descriptor. `rank` is the other process's, for messages.
  PeerSocket(int descriptor, int rank);
  ~PeerSocket();
  PeerSocket(const PeerSocket&) = delete;
  PeerSocket& operator=(const PeerSocket&) = delete;

  /// Messages of one key arrive in the order in which they were sent, and are received in the order
  /// in which somebody asked for them.
  std::shared_ptr<const Outgoing> send(std::int64_t key, std::span<const std::byte>);
  std::shared_ptr<const Incoming> receive(std::int64_t key, std::span<std::byte>);
  /// Returns whether a message of the key is on its way here that nobody has asked for.
  bool announced(std::int64_t key) const;
  /// Sends and receives what it can. Throws Error{Internal} for a message of another length than
  /// the one that was asked for.
  void move();
  /// Returns whether the other process has ended or closed its end. What it has sent before has
  /// come.
  bool ended() const { return ended_; }
  bool sends() const { return !going_.empty(); }
  int descriptor() const { return descriptor_; }

 private:
  void send_some();
  bool receive_some();  // returns whether there may be more
  void begin_message();
  void end_message();
  // Reads into what is left of the span, which begins with `come` bytes. Returns whether it is
  // full.
  bool read(std::span<std::byte> into, std::size_t& come);

  int descriptor_, rank_;
  bool ended_ = false;
  std::deque<std::shared_ptr<Outgoing>> going_;
  std::array<std::byte, 16> head_{};
  std::size_t head_come_ = 0;
  std::shared_ptr<Incoming> coming_;  // null between two messages
  struct Line {
    std::deque<std::shared_ptr<Incoming>> came, asked;  // one of them is empty
  };
  std::map<std::int64_t, Line> lines_;  // by key
};

}  // namespace trainyard
