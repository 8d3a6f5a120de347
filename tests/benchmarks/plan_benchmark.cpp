// The search for plans on the standard jobs: plans tried, plans a second on every core and on one,
// plans a second of processor time (what other work on the machine does not change), and how many
// times the last is of the fastest exhaustive open search (Calculon, as measured on one
// core of the machine that the first figures here are of: 350 plans a second under CPython, 690 to
// 810 under PyPy; its whole space of GPT-3 175B in 555, 735 and 746 s on 64, 512 and 4096 A100).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <ctime>

#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/plan_search.h"

namespace trainyard {
namespace {

constexpr double kRivalPlans = 810;  // a second, the faster of its two

struct Job {
  const char *name, *model, *cluster;
  std::int64_t batch, sequence;
  double rival_seconds;  // for its space; 0 = it was not asked
};

constexpr Job kJobs[] = {{"gpt3/64", "gpt3-175b", "a100-sxm-80:64", 1536, 2048, 555},
                         {"gpt3/512", "gpt3-175b", "a100-sxm-80:512", 1536, 2048, 735},
                         {"gpt3/4096", "gpt3-175b", "a100-sxm-80:4096", 1536, 2048, 746},
                         {"llama70/1024", "llama-3-70b", "h100-sxm:1024", 2048, 8192, 0}};

Scenario base_of(const Job& job) {
  Scenario base{zoo_model(job.model), parse_cluster(job.cluster), {}};
  base.plan.batch.global = job.batch;
  base.plan.batch.sequence = job.sequence;
  return base;
}

PlanSpace own_space(const Job& job) { return PlanSpace(base_of(job), {}, {}); }

// Knob by knob what the rival's space has: degrees, micro-batch, interleaving, recomputation of
// nothing, attention or all, sequence parallelism, tensor traffic beside products or not, gradient
// traffic beside computation or not, a sharded optimizer or not, which degree is inside a node.
PlanSpace rivals_space(const Job& job) {
  Scenario base = base_of(job);
  base.plan.flash_attention = false;
  const std::vector<std::string> fixed = {"cp", "ep", "flash-attention"};
  const std::vector<Bound> bounds = {{"schedule", "1f1b,interleaved"},
                                     {"recompute", "none,selective,full"},
                                     {"tensor-overlap", "off,backward,on"},
                                     {"overlap", "on,off"},
                                     {"zero", "0,1"}};
  return PlanSpace(base, fixed, bounds);
}

void search_space(benchmark::State& state, const Job& job, bool rivals, int threads) {
  const PlanSpace space = rivals ? rivals_space(job) : own_space(job);
  const SteadyClock clock;
  SearchOptions options;
  options.clock = &clock;
  options.threads = threads;
  SearchResult found;
  double seconds = 0;
  const std::clock_t start = std::clock();  // of all threads
  for (auto _ : state) {
    found = search(space, options);
    seconds += found.seconds;
  }
  const double searches = static_cast<double>(state.iterations());
  const double of_cores = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / searches;
  seconds /= searches;
  const double tried = static_cast<double>(found.tried), rate = tried / of_cores;
  state.counters["plans"] = tried;
  state.counters["fitting"] = static_cast<double>(found.fitting);
  state.counters["estimated"] = static_cast<double>(found.estimated);
  state.counters["plans_per_second"] = tried / seconds;
  state.counters["plans_per_core_second"] = rate;
  state.counters["times_rivals_rate"] = rate / kRivalPlans;
  if (rivals && job.rival_seconds > 0)
    state.counters["times_rivals_search"] = job.rival_seconds / of_cores;
  if (found.best.empty()) return;
  std::string words;
  for (const std::string& word : space.words(found.best.front().id))
    words += (words.empty() ? "" : " ") + word;
  state.SetLabel(fmt::format("{}: {}", readable(found.best.front().step), words));
}

[[maybe_unused]] const int kRegistered = [] {
  for (const int threads : {0, 1})
    for (const bool rivals : {false, true})
      for (const Job& job : kJobs)
        benchmark::RegisterBenchmark(
            fmt::format("plan/{}/{}/{}", job.name, rivals ? "rival's space" : "own space",
                        threads == 0 ? "every core" : "one core")
                .c_str(),
            [&job, rivals, threads](benchmark::State& state) {
              search_space(state, job, rivals, threads);
            })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
  return 0;
}();

}  // namespace
}  // namespace trainyard
