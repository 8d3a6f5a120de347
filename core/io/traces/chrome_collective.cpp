#include "core/io/traces/chrome_collective.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/printable.h"
#include "core/io/traces/trace_builder.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
constexpr std::int64_t kMostRanks = 1'000'000;

// These are the words of PyTorch's process groups, but for "scatter", whose ranks other than the
// root state no elements. What it writes into one tensor and what it writes into a list have words
// of their own.
constexpr std::pair<std::string_view, CollectiveKind> kKindsByWord[] = {
    {"allreduce", CollectiveKind::AllReduce},
    {"allreduce_coalesced", CollectiveKind::AllReduce},
    {"all_gather", CollectiveKind::AllGather},
    {"_allgather_base", CollectiveKind::AllGather},
    {"allgather_into_tensor_coalesced", CollectiveKind::AllGather},
    {"reduce_scatter", CollectiveKind::ReduceScatter},
    {"_reduce_scatter_base", CollectiveKind::ReduceScatter},
    {"reduce_scatter_tensor_coalesced", CollectiveKind::ReduceScatter},
    {"all_to_all", CollectiveKind::AllToAll},
    {"all_to_allv", CollectiveKind::AllToAll},
    {"broadcast", CollectiveKind::Broadcast},
    {"_broadcast_oop", CollectiveKind::Broadcast},
    {"reduce", CollectiveKind::Reduce},
    {"_reduce_oop", CollectiveKind::Reduce},
    {"gather", CollectiveKind::Gather}};

// These are PyTorch's names of number formats, with their bytes.
constexpr std::pair<std::string_view, std::int64_t> kBytesOfFormats[] = {
    {"Byte", 1},          {"Char", 1},          {"Short", 2},           {"Int", 4},
    {"Long", 8},          {"Half", 2},          {"Float", 4},           {"Double", 8},
    {"ComplexHalf", 4},   {"ComplexFloat", 8},  {"ComplexDouble", 16},  {"Bool", 1},
    {"BFloat16", 2},      {"UInt16", 2},        {"UInt32", 4},          {"UInt64", 8},
    {"Float8_e5m2", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2fnuz", 1}, {"Float8_e4m3fnuz", 1},
    {"Float8_e8m0fnu", 1}};

template <class Table>
auto find_in(const Table& table, std::string_view word) {
  const auto* const found = std::find_if(std::begin(table), std::end(table),
                                         [&](const auto& row) { return row.first == word; });
  return found == std::end(table) ? std::nullopt : std::optional(found->second);
}

// Reads "[0, 8, 16, ...]". PyTorch leaves out the end of a long list, which goes on as it began.
std::vector<std::int64_t> ranks_of(std::string_view text, std::int64_t size) {
  std::vector<std::int64_t> ranks;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && static_cast<std::int64_t>(ranks.size()) < size) {
    std::int64_t rank = 0;
    const auto [after, error] = std::from_chars(at, end, rank);
    if (error == std::errc() && rank >= 0 && rank < kMostRanks) ranks.push_back(rank);
    at = error == std::errc() ? after : at + 1;
  }
  const bool cut = text.find("...") != std::string_view::npos;
  if (cut && ranks.size() > 1)
    while (static_cast<std::int64_t>(ranks.size()) < size)
      ranks.push_back(2 * ranks.back() - ranks[ranks.size() - 2]);
  if (static_cast<std::int64_t>(ranks.size()) != size ||
      std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) != ranks.end())
    return {};
  return ranks;
}

}  // namespace

std::optional<StatedCollective> stated_collective(const ChromeEvent& e,
                                                  std::optional<TraceDefect>& wrong) {
  const auto defect = [&](const char* expected, const std::string& found) {
    wrong = TraceDefect{expected, found, 0, 0, 1, "the collective has no size"};
    return std::nullopt;
  };
  if (e.collective.empty() || !e.group_size || *e.group_size == 1) return {};
  if (*e.group_size < 1 || *e.group_size > kMostRanks)
    return defect("a group of 1 to 1000000 ranks", std::to_string(*e.group_size));
  StatedCollective made;
  made.kind = find_in(kKindsByWord, e.collective);
  made.group = {clean_text(e.group), *e.group_size, ranks_of(e.group_ranks, *e.group_size)};
  if (!made.kind) return made;
  const std::optional<std::int64_t> each = find_in(kBytesOfFormats, e.dtype);
  if (!each)
    return defect("a number format of PyTorch as dtype",
                  e.dtype.empty() ? "none" : "\"" + printable(e.dtype) + "\"");
  if (!e.elements || *e.elements < 0 || *e.elements > kMostElements)
    return defect("a number of elements as In msg nelems", e.elements ? "another one" : "none");
  // One rank's part goes into a gather, and all of them come out of it.
  const bool gathers =
      made.kind == CollectiveKind::AllGather || made.kind == CollectiveKind::Gather;
  const std::int64_t parts = gathers ? *e.group_size : 1;
  if (*e.elements > kMostElements / parts)
    return defect("a number of elements as In msg nelems", "another one");
  made.bytes = Bytes{*e.elements * *each * parts};
  return made;
}

}  // namespace trainyard
