// This file is what a launcher (local_launch.h) and the processes that it has started tell each
// other, over a socket for each of them that keeps words apart.
#pragma once

#include <cstdint>
#include <optional>

namespace trainyard {

// The environment variables by which a process knows its place.
inline constexpr const char* kLocalRank = "TRAINYARD_RANK";
inline constexpr const char* kLocalRanks = "TRAINYARD_RANKS";
inline constexpr const char* kLauncherSocket = "TRAINYARD_LAUNCHER";  // the descriptor
// 1: of one that has said so before it ended; 2: of one that was lost unasked.
inline constexpr const char* kTakesPlace = "TRAINYARD_TAKES_PLACE";
inline constexpr const char* kSurvives = "TRAINYARD_SURVIVES";  // 1: one that is lost is replaced

/// Says to a process how it reaches another.
struct PeerWord {
  std::int32_t rank = 0;
  int descriptor = -1;  // of a stream socket, which the receiver then owns
};

/// Says to the launcher what its process does next. Without any of these, its end is unexpected.
struct RankWord {
  enum class Kind : std::int32_t {
    Leaves,    // its work is done, as is that of all
    Fails,     // is killed, and another is to take its place
    Abandons,  // all are to end, with that exit code
  };
  Kind kind = Kind::Leaves;
  std::int32_t exit = 0;
};

/// These return whether the word has gone: not where the other side has ended. The sender of a
/// descriptor keeps its own copy.
bool tell(int socket, const PeerWord&);
bool tell(int socket, const RankWord&);
/// Blocks until there is a word; nothing where the launcher has ended. Throws Error{Io} where a
/// descriptor does not come with it: the process has as many open as it may.
std::optional<PeerWord> hear_peer(int socket);
/// Nothing where no word is there, or the process has ended. Does not block.
std::optional<RankWord> hear_rank(int socket);

}  // namespace trainyard
