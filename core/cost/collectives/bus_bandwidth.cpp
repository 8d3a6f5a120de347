#include "core/cost/collectives/bus_bandwidth.h"

namespace trainyard {
namespace {

// The links on the way from or to the root carry the whole vector once.
bool passes_whole(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
}

}  // namespace

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const double moved =
      ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0.0;
  if (passes_whole(kind)) return ranks > 1 ? 1 : 0;
  return kind == CollectiveKind::AllReduce ? 2 * moved : moved;
}

std::string_view bus_formula(CollectiveKind kind) {
  if (passes_whole(kind)) return "1";
  return kind == CollectiveKind::AllReduce ? "2(p-1)/p" : "(p-1)/p";
}

BytesPerSecond algorithm_bandwidth(Bytes bytes, Duration time) {
  return {time.count() > 0 ? static_cast<double>(bytes.value) / to_seconds(time) : 0};
}

}  // namespace trainyard
