// Implements what goes between ranks that are processes, so that the loss of one loses no more than
// its memory.
#include <cstring>

#include "backends/cpu/execution/state/shard_saves.h"
#include "backends/processes.h"
#include "core/base/packed.h"

namespace trainyard {
namespace {

constexpr int kShardMessages = 0;  // nothing else is under way between two updates

}  // namespace

bool ShardSaves::keeps_for(int rank) const { return here(rank) || here(after(rank)); }

void ShardSaves::send(int to, const std::string& bytes) {
  Processes& processes = *execution_.processes();
  const std::uint64_t length = bytes.size();
  const TransferPtr first =
                        processes.send(to, kShardMessages, std::as_bytes(std::span(&length, 1))),
                    second = processes.send(to, kShardMessages, std::as_bytes(std::span(bytes)));
  processes.wait(*first);
  processes.wait(*second);
}

std::string ShardSaves::receive(int from) {
  Processes& processes = *execution_.processes();
  const auto wait = [&](std::span<std::byte> into) {
    processes.wait(*processes.receive(from, kShardMessages, into));
  };
  std::uint64_t length = 0;
  wait(std::as_writable_bytes(std::span(&length, 1)));
  std::string bytes(length, '\0');
  wait(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// Gives the bytes to the next rank, and returns those of the one before.
std::string ShardSaves::pass_on(const std::string& mine) {
  Processes& processes = *execution_.processes();
  const int own = processes.rank();
  const std::uint64_t length = mine.size();
  const TransferPtr first = processes.send(after(own), kShardMessages,
                                           std::as_bytes(std::span(&length, 1))),
                    second =
                        processes.send(after(own), kShardMessages, std::as_bytes(std::span(mine)));
  std::string theirs = receive(before(own));
  processes.wait(*first);
  processes.wait(*second);
  return theirs;
}

void ShardSaves::pass_on_mirrored() {
  const int own = execution_.processes()->rank();
  std::string mine;
  const Shard& one = shard(own);
  each_mirrored(one, [&](std::size_t part, std::size_t state, std::size_t bytes) {
    append(mine, one.saved[part][state].data(), bytes);
  });
  const std::string come = pass_on(mine);
  Pieces pieces(come);
  Shard& theirs = shard(before(own));
  each_mirrored(theirs, [&](std::size_t part, std::size_t state, std::size_t bytes) {
    pieces.next(theirs.saved[part][state].data(), bytes);
  });
}

void ShardSaves::pass_on_rows(const std::vector<std::vector<std::int64_t>>& rows) {
  const int own = execution_.processes()->rank();
  std::string mine;
  for (const std::int64_t row : rows[static_cast<std::size_t>(own)])
    each_state_of(shard(own), row,
                  [&](std::size_t part, std::size_t state, std::size_t at, std::size_t bytes) {
                    append(mine, shard(own).saved[part][state].data() + at, bytes);
                  });
  const std::string come = pass_on(mine);
  Pieces pieces(come);
  Shard& theirs = shard(before(own));
  for (const std::int64_t row : rows[static_cast<std::size_t>(before(own))])
    each_state_of(theirs, row,
                  [&](std::size_t part, std::size_t state, std::size_t at, std::size_t bytes) {
                    pieces.next(theirs.saved[part][state].data() + at, bytes);
                  });
}

std::string ShardSaves::kept_for(int rank) {
  if (training_.recovery.how == ShardSaving::Full) return here(rank) ? kept_ : kept_before_;
  std::string bytes;
  for (const auto& part : shard(rank).saved)
    for (const std::vector<std::byte>& state : part) append(bytes, state.data(), state.size());
  return bytes;
}

void ShardSaves::keep_for(int rank, const std::string& bytes) {
  if (training_.recovery.how == ShardSaving::Full) {
    (here(rank) ? kept_ : kept_before_) = bytes;
    return;
  }
  Pieces pieces(bytes);
  for (auto& part : shard(rank).saved)
    for (std::vector<std::byte>& state : part) pieces.next(state.data(), state.size());
}

std::string ShardSaves::counted() const {
  std::string bytes;
  append(bytes, first_update_);
  for (const bool struck : struck_) append(bytes, struck);
  append_list(bytes, report_.losses);
  append(bytes, report_.saves);
  append(bytes, report_.rows_saved);
  append(bytes, report_.saved);
  append(bytes, report_.mirrored);
  append(bytes, report_.lookups);
  append(bytes, report_.steps_repeated);
  for (const Shard& one : shards_) {
    append_list(bytes, packed(one.parts));
    append_list(bytes, one.rows.counted());
  }
  return bytes;
}

void ShardSaves::go_on(const std::string& counted) {
  Pieces pieces(counted);
  first_update_ = pieces.next<std::int64_t>();
  for (std::size_t k = 0; k < struck_.size(); ++k) struck_[k] = pieces.next<bool>();
  report_.losses = pieces.list<ShardLoss>();
  report_.saves = pieces.next<std::int64_t>();
  report_.rows_saved = pieces.next<std::int64_t>();
  report_.saved = pieces.next<Bytes>();
  report_.mirrored = pieces.next<Bytes>();
  report_.lookups = pieces.next<std::int64_t>();
  report_.steps_repeated = pieces.next<std::int64_t>();
  for (int rank = 0; rank < execution_.peers(); ++rank) {
    shards_.push_back(begun_shard(rank, unpacked(pieces.text())));
    shards_.back().rows.go_on(pieces.text());
  }
}

std::string ShardSaves::packed(const std::vector<Part>& parts) {
  std::string bytes;
  for (const Part& part : parts) {
    append(bytes, part.model_layer);
    append(bytes, part.tensor);
    append(bytes, part.first);
    append(bytes, part.elements);
    append(bytes, part.type);
    append_list(bytes, part.each);
  }
  return bytes;
}

std::vector<ShardSaves::Part> ShardSaves::unpacked(std::string_view bytes) {
  std::vector<Part> parts;
  for (Pieces pieces(bytes); pieces.left();) {
    Part& part = parts.emplace_back();
    part.model_layer = pieces.next<int>();
    part.tensor = pieces.next<TensorId>();
    part.first = pieces.next<std::int64_t>();
    part.elements = pieces.next<std::int64_t>();
    part.type = pieces.next<DType>();
    part.each = pieces.list<std::uint64_t>();
  }
  return parts;
}

// The next rank has what was kept for the lost one, and the one before it what that one kept.
void ShardSaves::hand_over(int rank, const std::string& session) {
  const int own = execution_.processes()->rank();
  if (own == after(rank)) {
    std::string bytes;
    for (const std::string& one : {counted(), execution_.shared_state(), session, kept_for(rank)})
      append_list(bytes, one);
    send(rank, bytes);
  }
  if (own == before(rank)) send(rank, kept_for(own));
  execution_.go_on(execution_.updates(), execution_.consumed());
}

std::string ShardSaves::held() {
  const int own = execution_.processes()->rank();
  std::string bytes;
  for (const std::string& one : {counted(), kept_for(own), kept_for(before(own))})
    append_list(bytes, one);
  return bytes;
}

void ShardSaves::go_back(std::string_view held) {
  const int own = execution_.processes()->rank();
  Pieces pieces(held);
  shards_.clear();
  go_on(pieces.text());
  keep_for(own, pieces.text());
  keep_for(before(own), pieces.text());
}

void ShardSaves::take_over() {
  const int own = execution_.processes()->rank();
  const std::string bytes = receive(after(own));
  Pieces pieces(bytes);
  go_on(pieces.text());
  execution_.go_on(pieces.text());
  session_ = pieces.text();
  keep_for(own, pieces.text());
  keep_for(before(own), receive(before(own)));
  execution_.replace(DeviceId{0}, own);
  if (training_.recovery.how != ShardSaving::Full) restore(own);
}

}  // namespace trainyard
