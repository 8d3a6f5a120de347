// Published all-reduces and copies (assets/validation/collectives.csv) beside what the physical
// cost model says of them: prior values of the parameters, nothing fitted here. V100 with fewer
// than 8 of its hybrid cube mesh are left out: a group of them has fewer links than a switch would
// give it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "core/base/csv.h"
#include "core/cost/collectives/bus_bandwidth.h"
#include "core/cost/physical_links.h"
#include "core/io/bytes/files.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

struct Measured {
  std::string device, operation;
  std::int64_t ranks = 0, nodes = 0, bytes = 0;  // 0 bytes: not stated, large
  double seconds = 0, bus = 0;                   // 0 seconds: only the bandwidth is stated; GB/s
};

std::vector<Measured> measured() {
  const std::string path = TRAINYARD_SOURCE_DIR "/assets/validation/collectives.csv";
  std::vector<Measured> found;
  const std::vector<CsvRecord> records = parse_csv(read_file(path), path);
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto& f = records[i].fields;  // source, gpu, n_gpus, n_nodes, op, dtype, bytes, us, busbw
    const auto number = [&](std::size_t k) { return std::strtod(f[k].c_str(), nullptr); };
    found.push_back({f[1], f[4], static_cast<std::int64_t>(number(2)),
                     static_cast<std::int64_t>(number(3)), static_cast<std::int64_t>(number(6)),
                     number(7) * 1e-6, number(8)});
  }
  return found;
}

// Its cluster in our words; "" = left out. Jean Zay's network of the time was known to be slow.
std::string cluster_of(const Measured& m) {
  if (m.device == "A100" && m.nodes == 1) return "a100:8";
  if (m.device == "V100" && m.ranks == 8) return "v100-sxm3-32:8,per-node=8";
  if (m.device == "unknown (8/node)") return "a100:32,inter=200GB/s";
  if (m.device == "MI300X") return "mi300x:8";
  return "";
}

double predicted_seconds(const Measured& m, std::int64_t bytes, const Cluster& c) {
  const LinkTerms terms = link_terms(c.device, Parameters::priors());
  const std::int64_t per_node = m.ranks / m.nodes;
  return to_seconds(physical_collective(CollectiveKind::AllReduce, {bytes},
                                        {.ranks = m.ranks, .per_node = per_node}, c, terms)
                        .time);
}

// Half-width by size: where small messages' protocols take turns errors are largest.
double tolerance(const Measured& m) {
  constexpr std::int64_t kMiB = 1 << 20;
  if (m.bytes > 0 && m.bytes < 64 * kMiB) return 0.35;
  return m.nodes > 1 ? 0.10 : 0.20;
}

TEST(PublishedCollectives, LieWhereTheCostModelSaysWithinItsTolerance) {
  struct Spread {
    int count = 0;
    double worst = 0, sum = 0;
  };
  std::map<std::string, Spread> table;
  int compared = 0;
  for (const Measured& m : testing::non_empty(measured())) {
    const std::string text = cluster_of(m);
    if (text.empty() || m.operation != "all_reduce") continue;
    const Cluster c = parse_cluster(text);
    const std::int64_t bytes = m.bytes > 0 ? m.bytes : std::int64_t{4} << 30;
    const double time = predicted_seconds(m, bytes, c);
    const double bus =
        static_cast<double>(bytes) / time * bus_factor(CollectiveKind::AllReduce, m.ranks);
    const double error = m.seconds > 0 ? time / m.seconds - 1 : m.bus * 1e9 / bus - 1;
    EXPECT_LE(std::abs(error), tolerance(m))
        << m.device << ", " << m.ranks << " ranks, " << bytes << " bytes: predicted " << time * 1e6
        << " us, " << bus / 1e9 << " GB/s; measured " << m.seconds * 1e6 << " us, " << m.bus
        << " GB/s";
    const char* size = m.bytes == 0 || m.bytes >= 64 << 20 ? "64 MiB and more" : "below 64 MiB";
    Spread& spread = table[m.device + ", " + std::to_string(m.ranks) + " ranks, " + size];
    ++spread.count, ++compared;
    spread.sum += std::abs(error), spread.worst = std::max(spread.worst, std::abs(error));
  }
  for (const auto& [name, s] : table)
    std::printf("  %-46s %3d sizes  mean %5.1f %%  worst %5.1f %%\n", name.c_str(), s.count,
                100 * s.sum / s.count, 100 * s.worst);
  EXPECT_GE(compared, 100);
}

TEST(PublishedCollectives, OneCopyBetweenTwoDevicesOfANode) {
  for (const Measured& m : testing::non_empty(measured())) {
    if (m.operation != "p2p_copy_unidir") continue;
    const Cluster c = parse_cluster("h200:8");
    const LinkTerms terms = link_terms(c.device, Parameters::priors());
    constexpr std::int64_t kBytes = std::int64_t{4} << 30;
    const double rate =
        static_cast<double>(kBytes) / to_seconds(physical_transfer({kBytes}, c, 0, terms));
    EXPECT_NEAR(rate / (m.bus * 1e9), 1, 0.12);
  }
}

}  // namespace
}  // namespace trainyard
