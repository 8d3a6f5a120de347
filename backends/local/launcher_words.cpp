#include "backends/local/launcher_words.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace trainyard {
namespace {

// Memory for one descriptor beside a word, as cmsg(3) lays it out.
union Ancillary {
  cmsghdr first;
  char bytes[CMSG_SPACE(sizeof(int))];
};

bool send_word(int socket, const msghdr& what) {
  ssize_t sent = -1;
  do sent = ::sendmsg(socket, &what, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

bool tell(int socket, const PeerWord& word) {
  std::int32_t rank = word.rank;
  iovec piece{&rank, sizeof rank};
  Ancillary beside{};
  msghdr what{};
  what.msg_iov = &piece;
  what.msg_iovlen = 1;
  what.msg_control = beside.bytes;
  what.msg_controllen = sizeof beside.bytes;
  cmsghdr* const head = CMSG_FIRSTHDR(&what);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &word.descriptor, sizeof word.descriptor);
  return send_word(socket, what);
}

bool tell(int socket, const RankWord& word) {
  RankWord copy = word;
  iovec piece{&copy, sizeof copy};
  msghdr what{};
  what.msg_iov = &piece;
  what.msg_iovlen = 1;
  return send_word(socket, what);
}

std::optional<PeerWord> hear_peer(int socket) {
  PeerWord word;
  iovec piece{&word.rank, sizeof word.rank};
  Ancillary beside{};
  msghdr what{};
  what.msg_iov = &piece;
  what.msg_iovlen = 1;
  what.msg_control = beside.bytes;
  what.msg_controllen = sizeof beside.bytes;
  ssize_t got = -1;
  do got = ::recvmsg(socket, &what, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  const cmsghdr* const head = CMSG_FIRSTHDR(&what);
  if (head == nullptr)
    throw Error(Error::Kind::Io,
                fmt::format("no socket came for rank {}; \"ulimit -n\" says how many files a "
                            "process may have open",
                            word.rank));
  std::memcpy(&word.descriptor, CMSG_DATA(head), sizeof word.descriptor);
  return word;
}

std::optional<RankWord> hear_rank(int socket) {
  RankWord word;
  ssize_t got = -1;
  do got = ::recv(socket, &word, sizeof word, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof word)) return std::nullopt;
  return word;
}

}  // namespace trainyard
