// Measures the time of one query to a cost model: planners make some hundreds for each plan that
// they score.
#include <benchmark/benchmark.h>

#include "core/cost/cost_model.h"

namespace trainyard {
namespace {

void compute_product(benchmark::State& state) {
  const auto model = roofline_cost_model();
  const Device& h100 = device("h100");
  Work work{.flops = {2.0 * 4096 * 4096 * 4096}, .read = 64_MiB, .written = 32_MiB};
  work.kind = WorkKind::Product;
  work.math = DType::BF16;
  work.m = work.n = work.k = 4096;
  for (auto _ : state) {
    benchmark::DoNotOptimize(work);
    benchmark::DoNotOptimize(model->compute(work, h100));
  }
}
BENCHMARK(compute_product);

void transfer(benchmark::State& state) {
  const auto model = roofline_cost_model();
  const Cluster cluster = parse_cluster("h100:1024");
  Bytes bytes = 64_MiB;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(model->transfer(bytes, cluster, 1));
  }
}
BENCHMARK(transfer);

void collective(benchmark::State& state, const char* text, GroupShape group) {
  const auto model = roofline_cost_model();
  const Cluster cluster = parse_cluster(text);
  Bytes bytes = 64_MiB;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(model->collective(CollectiveKind::AllReduce, bytes, group, cluster));
  }
}
BENCHMARK_CAPTURE(collective, in_a_node, "h100:1024", {.ranks = 8, .per_node = 8});
BENCHMARK_CAPTURE(collective, over_nodes, "h100:1024", {.ranks = 1024, .per_node = 8});
BENCHMARK_CAPTURE(collective, one_a_node, "h100:1024",
                  {.ranks = 128, .per_node = 1, .neighbours = 8, .stride = 8});
BENCHMARK_CAPTURE(collective, in_a_torus, "tpu-v5p:1024", {.ranks = 1024, .per_node = 1024});

void parse(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(parse_cluster("a100-sxm-80:512,per-node=4,inter=100GB/s,rail"));
}
BENCHMARK(parse);

}  // namespace
}  // namespace trainyard
