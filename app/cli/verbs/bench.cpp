// bench: simulates the shipped scenarios and prints one signature of all results, in whole
// nanoseconds and bytes. A change of the signature means that results changed.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/clock.h"
#include "core/base/digest.h"

namespace trainyard {
namespace {

struct BenchCase {
  std::string_view name, model, cluster;
  std::vector<std::string> settings;
  Grain grain = Grain::Order;
};

const std::vector<BenchCase>& cases() {
  static const std::vector<BenchCase> list = {
      {"one device", "mlp-small", "rtx4090:1", {"global-batch=64"}, Grain::Op},
      {"convolutions",
       "resnet-50",
       "v100-sxm2-16:8",
       {"micro-batch=32", "global-batch=256"},
       Grain::Op},
      {"data parallel",
       "bert-large",
       "a100-sxm-40:64",
       {"micro-batch=8", "global-batch=512", "seq=512"}},
      {"zero 1",
       "gpt3-6.7b",
       "a100-sxm-80:64",
       {"zero=1", "recompute=full", "global-batch=256", "seq=2048"}},
      {"zero 3",
       "llama-3-8b",
       "h100-sxm:64",
       {"zero=3", "global-batch=64", "seq=8192", "recompute=full"}},
      {"gpipe",
       "gpt3-2.7b",
       "v100-sxm3-32:16",
       {"pp=8", "schedule=gpipe", "recompute=full", "global-batch=64", "seq=2048"}},
      {"tensor and pipeline",
       "llama-3-70b",
       "h100-sxm:64",
       {"tp=8", "pp=4", "global-batch=128", "seq=8192"}},
      {"main job",
       "llama-3-70b",
       "h100-sxm:1024",
       {"tp=8", "pp=4", "global-batch=1024", "seq=8192"}},
      {"operators",
       "llama-3-8b",
       "h100-sxm:16",
       {"tp=2", "pp=2", "global-batch=32", "seq=8192"},
       Grain::Op},
      {"interleaved",
       "megatron-145.6b",
       "a100-sxm-80:512",
       {"tp=8", "pp=8", "schedule=interleaved", "virtual-stages=2", "global-batch=512", "seq=2048",
        "recompute=full"}},
      {"context",
       "llama-3.1-405b",
       "h100-sxm:1024",
       {"tp=8", "pp=8", "cp=2", "global-batch=256", "seq=16384", "split=15,16,16,16,16,16,16,15"}},
      {"experts",
       "mixtral-8x7b",
       "h100-sxm:64",
       {"tp=2", "pp=2", "ep=8", "global-batch=128", "seq=4096"}},
      {"trillion",
       "gpt-1t",
       "a100-sxm-80:3072",
       {"tp=8", "pp=64", "global-batch=3072", "seq=2048", "recompute=full"}},
  };
  return list;
}

void add(Digest& digest, const Experiment& e) {
  for (const Span& span : e.timeline.spans) digest.add(span.start.count()).add(span.end.count());
  for (const MemoryWave& wave : e.waves)
    for (const MemoryWave::Sample& sample : wave.samples)
      digest.add(sample.at.count()).add(total(sample.bytes).value);
  const Verdict& verdict = e.result.verdict;
  digest.add(verdict.margin.value).add(verdict.where);  // bands depend on the rows that ship
  for (const Fix& fix : verdict.fixes)
    digest.add(fix.set).add(fix.saves.value).add(fix.step.count());
  if (verdict.gain) digest.add(verdict.gain->set).add(verdict.gain->step.count());
}

void add(Digest& digest, const Result& estimated) {
  digest.add(estimated.step.value.count());
  for (const StageMemory& stage : estimated.memory) digest.add(stage.peak.value.value);
}

// Instructions per second of lowering and simulating, best of three.
std::string speed(const BenchCase& one, const Clock& clock) {
  const Scenario scenario =
      open({std::string(one.model), std::string(one.cluster), "", one.settings});
  Duration best = Duration::max();
  std::size_t instructions = 0;
  for (int i = 0; i < 3; ++i) {
    const Instant start = clock.now();
    instructions =
        simulate(scenario, {.grain = one.grain, .fixes = false})->program.instructions.size();
    best = std::min(best, clock.now() - start);
  }
  return fmt::format("  {:>9} instructions in {:>9.3f} ms, {:>6.2f} million a second", instructions,
                     1e3 * to_seconds(best),
                     static_cast<double>(instructions) / to_seconds(best) / 1e6);
}

int run_bench(const Words& words, Streams& streams) {
  Digest signature;
  const SteadyClock clock;
  std::string out;
  for (const BenchCase& one : cases()) {
    const Scenario scenario =
        open({std::string(one.model), std::string(one.cluster), "", one.settings});
    const ExperimentPtr experiment = with_context(fmt::format("running \"{}\"", one.name), [&] {
      return simulate(scenario, {.grain = one.grain});
    });
    Digest own;
    add(own, *experiment);
    add(own, estimate(scenario));
    signature.add(static_cast<std::int64_t>(own.value()));
    out += fmt::format("{:<20} {}{}\n", one.name, to_hex(own.value()),
                       words.has("time") ? speed(one, clock) : "");
  }
  out += fmt::format("signature            {}\n", to_hex(signature.value()));
  deliver(out, words, streams);
  return kDone;
}

}  // namespace

Verb bench_verb() {
  return {.name = "bench",
          .summary = "Simulates the shipped scenarios and prints one signature of all results.",
          .flags = {{"time", "", "how fast each was lowered and simulated, beside its signature"},
                    {"out", "FILE", "writes there instead of standard output"},
                    {"quiet", "", "no diagnostics"}},
          .examples = {"bench"},
          .run = run_bench};
}

}  // namespace trainyard
