#include "core/plan/stage_kinds.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "core/plan/mesh.h"

namespace trainyard {
namespace {

Diagnostic kind_error(std::string message, std::string place, std::string fix) {
  return {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)};
}

// The number of stages next to the plan's, upwards first, whose devices divide every kind; 0 where
// there is none.
std::int64_t dividing_stages(const Cluster& cluster, std::int64_t pp) {
  std::int64_t common = cluster.count;
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind)
    common = std::gcd(common, count_of_kind(cluster, kind));
  for (std::int64_t more = pp + 1; more <= cluster.count; ++more)
    if (cluster.count % more == 0 && common % (cluster.count / more) == 0) return more;
  return 0;
}

}  // namespace

std::size_t kind_of_rank(const Cluster& cluster, const Mesh& mesh, DeviceId pipeline_rank) {
  if (!is_mixed(cluster)) return 0;
  return kind_of_device(cluster, cluster.count / mesh.pp * pipeline_rank.value);
}

Diagnostics check_stage_kinds(const Cluster& cluster, const Mesh& mesh, Placement placement) {
  if (!is_mixed(cluster)) return {};
  if (const Diagnostics wrong = check_rank_order(mesh.order); has_errors(wrong)) return wrong;
  const std::int64_t each = cluster.count / mesh.pp;
  if (copies(placement) > 1)
    return {
        kind_error("expected a schedule with one copy of each stage, because a copy on another "
                   "kind of device would have its own split, found one with two",
                   "plan#/choices", "schedule=1f1b")};
  if (mesh.pp > 1 && representative(mesh, 1) != each)
    return {kind_error(
        fmt::format("expected the {} devices of a stage beside each other, where they are of one "
                    "kind, found rank order {}",
                    each, mesh.order),
        "plan#/mesh/order", "rank-order=tp-cp-ep-dp-pp")};
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind) {
    const std::int64_t count = count_of_kind(cluster, kind);
    if (count % each == 0) continue;
    const std::int64_t more = dividing_stages(cluster, mesh.pp);
    return {kind_error(
        fmt::format("a stage has {} devices and is of one kind, and the {} devices of {} do not "
                    "divide into such stages",
                    each, count, device_of_kind(cluster, kind).name),
        "cluster#/mixed", more > 0 ? fmt::format("pp={}", more) : "")};
  }
  return {};
}

}  // namespace trainyard
