#include "backends/local/peer_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

void expect_length(const Incoming& message, int rank) {
  if (message.asked && message.wanted.size() != message.length)
    throw Error(Error::Kind::Internal,
                fmt::format("expected a message of {} bytes from rank {}, found {} bytes",
                            message.wanted.size(), rank, message.length));
}

}  // namespace

PeerSocket::PeerSocket(int descriptor, int rank) : descriptor_(descriptor), rank_(rank) {}
PeerSocket::~PeerSocket() { ::close(descriptor_); }

std::shared_ptr<const Outgoing> PeerSocket::send(std::int64_t key,
                                                 std::span<const std::byte> bytes) {
  auto message = std::make_shared<Outgoing>();
  const std::uint64_t length = bytes.size();
  std::memcpy(message->head.data(), &key, sizeof key);
  std::memcpy(message->head.data() + sizeof key, &length, sizeof length);
  message->bytes = bytes;
  going_.push_back(message);
  send_some();
  return message;
}

std::shared_ptr<const Incoming> PeerSocket::receive(std::int64_t key, std::span<std::byte> into) {
  Line& line = lines_[key];
  if (line.came.empty()) {
    auto message = std::make_shared<Incoming>();
    message->wanted = into;
    message->asked = true;
    line.asked.push_back(message);
    return message;
  }
  const std::shared_ptr<Incoming> message = std::move(line.came.front());
  line.came.pop_front();
  message->wanted = into;
  message->asked = true;
  expect_length(*message, rank_);
  if (message->all && !into.empty()) std::memcpy(into.data(), message->held.data(), into.size());
  return message;
}

bool PeerSocket::announced(std::int64_t key) const {
  const auto line = lines_.find(key);
  return line != lines_.end() && !line->second.came.empty();
}

void PeerSocket::move() {
  send_some();
  while (!ended_ && receive_some()) {
  }
}

void PeerSocket::send_some() {
  while (!going_.empty() && !ended_) {
    Outgoing& message = *going_.front();
    const std::size_t head = std::min(message.sent, message.head.size()),
                      body = message.sent - head;
    iovec pieces[] = {
        {message.head.data() + head, message.head.size() - head},
        {const_cast<std::byte*>(message.bytes.data()) + body, message.bytes.size() - body}};
    msghdr what{};
    what.msg_iov = pieces;
    what.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(descriptor_, &what, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return;  // it is full, or what ended it is found where it is read
    }
    message.sent += static_cast<std::size_t>(sent);
    if (!message.gone()) return;
    going_.pop_front();
  }
}

bool PeerSocket::read(std::span<std::byte> into, std::size_t& come) {
  while (come < into.size()) {
    const ssize_t got = ::recv(descriptor_, into.data() + come, into.size() - come, MSG_DONTWAIT);
    if (got > 0) {
      come += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    ended_ = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return false;
  }
  return true;
}

bool PeerSocket::receive_some() {
  if (coming_ == nullptr) {
    if (!read(head_, head_come_)) return false;
    begin_message();
  }
  Incoming& message = *coming_;
  if (!read(message.held.empty() ? message.wanted : std::span(message.held), message.come))
    return false;
  end_message();
  return true;
}

void PeerSocket::begin_message() {
  std::int64_t key = 0;
  std::uint64_t length = 0;
  std::memcpy(&key, head_.data(), sizeof key);
  std::memcpy(&length, head_.data() + sizeof key, sizeof length);
  head_come_ = 0;
  Line& line = lines_[key];
  if (line.asked.empty()) {
    coming_ = std::make_shared<Incoming>();
    coming_->length = length;
    coming_->held.resize(length);
    line.came.push_back(coming_);
    return;
  }
  coming_ = std::move(line.asked.front());
  line.asked.pop_front();
  coming_->length = length;
  expect_length(*coming_, rank_);
}

void PeerSocket::end_message() {
  Incoming& message = *coming_;
  if (message.asked && !message.held.empty())
    std::memcpy(message.wanted.data(), message.held.data(), message.length);
  message.all = true;
  coming_.reset();
}

}  // namespace trainyard
