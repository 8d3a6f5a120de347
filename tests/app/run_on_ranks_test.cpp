// Tests training over several processes: it learns what one process learns, bit for bit, holds what
// was planned, and loses nothing when a process dies. Needs mpirun.
#include <gtest/gtest.h>

#include <regex>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/on_ranks.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

using RunOnRanks = OnRanks;

const std::string kRunsQuietly = " --data random --no-record --quiet --json";

std::string json_member(const std::string& document, std::string_view key) {
  const Json json = parse_json(document, "run");
  const Json* const found = json.find(key);
  return found == nullptr ? "none" : write_json_line(*found);
}

struct ProcessCase {
  int processes;
  std::string words;
};

// A run with these evaluates before its end, over fewer samples than --evaluate takes.
const std::string kEvaluated =
    " --set evaluation=distributed --set evaluation.every=3 --set evaluation.samples=50";

TEST_F(RunOnRanks, TrainsAsOneProcessBitForBit) {
  const ProcessCase cases[] = {
      {2, "--model mlp-small --set global-batch=64 --set precision=fp32"},
      {4,
       "--model gpt-tiny --devices 4 --set tp=4 --set sequence-parallel=on --set "
       "global-batch=8 --set precision=bf16"},
      {3,
       "--model gpt-tiny --devices 8 --set pp=2 --set tp=2 --set zero=3 --set global-batch=8 "
       "--set precision=bf16 --train clip=1"},
      {4, "--model gpt-tiny --devices 4 --set zero=1 --set optimizer=lamb --set global-batch=8"},
      {4, "--model gpt-tiny --devices 4 --set precision=fp8 --set global-batch=8"},
      {4,
       "--model gpt-tiny --devices 4 --set zero=1 --set precision=bf16 --set global-batch=8 --set "
       "first-moment-dtype=bf16 --set second-moment-dtype=bf16 --set main-weights-dtype=remainder "
       "--set reduce-dtype=bf16 --set optimizer=adamw"},
      {3,
       "--model gpt-tiny --devices 4 --set pp=2 --set zero=2 --set precision=fp32 --set "
       "boundary-dtype=bf16 --set reduce-dtype=bf16 --set global-batch=8"},
      {3,
       "--model gpt-tiny --devices 4 --set zero=3 --set precision=fp8 --set fp8.gather-fp8=on "
       "--set global-batch=8"},
      {3,
       "--model gpt-tiny --devices 4 --set zero=3 --set precision=bf16 --set optimizer=adamw --set "
       "gather-dtype=int8 --set first-moment-dtype=fp8 --set second-moment-dtype=fp16 --set "
       "main-weights-dtype=fp16 --set global-batch=8"},
      {4,
       "--model gpt-tiny --devices 4 --set tp=2 --set zero=1 --set precision=fp8 --set "
       "fp8.weights=fp8 --set global-batch=8"},
      {4,
       "--model gpt-tiny --devices 4 --set pp=4 --set schedule=gpipe --set offload=both --set "
       "global-batch=16 --set precision=bf16 --train clip=1"},
      {3,
       "--model gpt-tiny --devices 4 --set pp=2 --set zero=1 --set offload=optimizer --set "
       "global-batch=8"},
      {3,
       "--model gpt-tiny --cluster cpu:4,nvme-read=2GB/s,nvme-write=1GB/s --set pp=2 --set zero=1 "
       "--set offload=optimizer --set offload-tier=nvme --set global-batch=8"},
      {8,
       "--model mlp-small --devices 8 --set reduce=adasum --set global-batch=64 --set "
       "precision=fp32 --set optimizer=sgd"},
      {3,
       "--model gpt-tiny --devices 4 --set pp=2 --set reduce=adasum --set optimizer=adamw --set "
       "global-batch=8 --set precision=bf16 --train clip=1"},
      {4,
       "--model gpt-tiny --devices 4 --set reduce=adasum-tree --set optimizer=lamb --set "
       "global-batch=8"},
      {2,
       "--model gpt-tiny --cluster cpu:4,per-node=2 --set reduce=adasum-hierarchical --set "
       "global-batch=8"},
      {4,
       "--model mlp-small --devices 4 --set compression=dgc --set compression.ratio=0.01 --set "
       "optimizer=momentum --set global-batch=64 --train clip=1 --train weight-decay=0.001"},
      {3,
       "--model gpt-tiny --devices 4 --set pp=2 --set compression=topk --set global-batch=8 --set "
       "compression.warmup=2"},
      {4,
       "--model gpt-tiny --devices 8 --set compression=mstopk --set optimizer=adamw --set "
       "precision=bf16 --set global-batch=8"},
      {4,
       "--model gpt-tiny --cluster cpu:4,per-node=2 --set compression=hitopk --set "
       "compression.ratio=0.01 --set global-batch=8"},
      {3,
       "--model gpt-tiny --cluster cpu:4,per-node=2 --set compression=hitopk --set "
       "compression.ratio=0.01 --set global-batch=8"},
      {3,
       "--model gpt-tiny --devices 4 --set optimizer=lars --set optimizer-norms=shared --set "
       "global-batch=8 --set precision=bf16 --train clip=1"},
      {4,
       "--model mlp-small --devices 4 --set pp=2 --set optimizer=lamb --set optimizer-norms=shared "
       "--set global-batch=64 --set precision=fp32"},
      {4,
       "--model mlp-small --devices 4 --set sync=local-sgd --set sync.period=2 --set "
       "optimizer=momentum --set sync.state=true --set global-batch=64 --train clip=1"},
      {3,
       "--model gpt-tiny --devices 4 --set pp=2 --set sync=easgd --set sync.period=2 --set "
       "optimizer=adamw --set precision=bf16 --set global-batch=8"},
      {3,
       "--model gpt-tiny --devices 3 --set sync=easgd --set sync.period=1 --set "
       "sync.elasticity=1.2 --set global-batch=6 --evaluate"},
      {4,
       "--model mlp-small --devices 4 --set sync=downpour --set optimizer=momentum --set "
       "sync.change=by-staleness --set global-batch=64 --train clip=1 --evaluate"},
      {3,
       "--model gpt-tiny --devices 6 --set pp=2 --set sync=downpour --set sync.period=2 --set "
       "sync.arrival=shuffled --set optimizer=adamw --set precision=bf16 --set global-batch=6"},
      {4, "--model mixtral-tiny --devices 4 --set ep=4 --set global-batch=8"},
      {2, "--model neox-tiny --devices 2 --set operator-stages=concurrent --set global-batch=8"},
      {4,
       "--model mixtral-tiny --devices 4 --set tp=2 --set ep=2 --set zero=3 --set "
       "expert-parallel.capacity=1.25 --set global-batch=8"},
      {3,
       "--model mixtral-tiny --devices 4 --set tp=2 --set etp=1 --set ep=2 --set zero=2 --set "
       "global-batch=8"},
      {2, "--model gpt-tiny --devices 4 --set zero=3 --set hybrid=2 --set global-batch=8"},
      {2, "--model resnet-20 --devices 2 --set global-batch=4" + kEvaluated},
      {3,
       "--model mlp-small --devices 4 --set global-batch=64 --set evaluation=distributed --set "
       "evaluation.every=2 --set evaluation.samples=700"},
      {2,
       "--model resnet-20 --devices 2 --set global-batch=4 --set batch-norm=replicas" + kEvaluated},
      {2, "--model resnet-20 --devices 2 --set cp=2 --set global-batch=4" + kEvaluated},
      {2, "--model resnet-20 --devices 4 --set cp=4 --set global-batch=2 --set precision=bf16"},
      {3,
       "--model resnet-20 --devices 6 --set pp=3 --set zero=1 --set global-batch=12 --set "
       "batch-norm=replicas --set precision=bf16" +
           kEvaluated},
      {3, "--model transformer-tiny --devices 4 --set pp=4 --set global-batch=8"},
      {4,
       "--model gpt-tiny --devices 4 --set pp=4 --set schedule=dualpipe --set "
       "global-batch=16"},
      {4, "--model gpt-tiny --devices 4 --set pp=4 --set schedule=zb-h1 --set global-batch=8"},
      {2, "--model gpt-tiny --devices 2 --set schedule=tick-tock --set global-batch=8"},
      {4,
       "--model mlp-small --devices 4 --set pp=4 --set schedule=pipemare --set "
       "global-batch=8 --set micro-batch=2"},
      {2,
       "--model mlp-small --devices 2 --set precision=fp32 --set sparsity=0.5 --set "
       "global-batch=64 --set micro-batch=16 --train weight-clip=0.2 --train bit-errors=0.01 "
       "--train bit-errors-below=5"},
      {2, "--model mlp-small --devices 2 --set optimizer=halp --set global-batch=64"},
      {2,
       "--model mlp-small --devices 2 --set precision=flex16 --set optimizer=muon --set "
       "global-batch=64"},
      {2,
       "--model mlp-small --devices 2 --set precision=vs-quant --set optimizer=adamw-8bit --set "
       "global-batch=64"},
      {2,
       "--model mlp-small --devices 2 --set pp=2 --set offload=activations --set "
       "offload-layers=all --set global-batch=64 --set micro-batch=32"},
      {2,
       "--model dlrm-tiny --devices 2 --set tt-rank=4 --set tt-tables=100 --set "
       "global-batch=64"}};
  // Every fourth is connected by MPI and the others by the program itself, which starts in half the
  // time: what processes compute does not depend on who carries their bytes.
  constexpr std::size_t kByMpi = 4;
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const ProcessCase& c = cases[i];
    const bool by_mpi = i % kByMpi == 0;
    const std::string line = "run " + c.words + " --steps 3" + kRunsQuietly;
    const bool stated = c.words.find("--devices") != std::string::npos ||
                        c.words.find("--cluster") != std::string::npos;
    const std::string alone = line + (stated ? "" : " --devices 2");
    const Ran several =
        by_mpi ? on_ranks(c.processes, line, folder)
               : trainyard(alone + " --processes " + std::to_string(c.processes), folder);
    const Ran one = trainyard(alone, folder);
    ASSERT_EQ(one.exit, kDone) << c.words << one.err;
    ASSERT_EQ(several.exit, kDone) << c.words << several.err;
    EXPECT_EQ(json_member(several.out, "loss"), json_member(one.out, "loss")) << c.words;
    EXPECT_EQ(json_member(several.out, "evaluation"), json_member(one.out, "evaluation"));
    for (const char* ratios : {"orthogonality", "energy_sent", "staleness"})
      EXPECT_EQ(json_member(several.out, ratios), json_member(one.out, ratios)) << c.words;
    // The time of an evaluation is measured and differs; its findings do not.
    const auto found = [](const std::string& document) {
      return std::regex_replace(json_member(document, "evaluations"),
                                std::regex("\"seconds\":[^,}]*,?"), "");
    };
    EXPECT_EQ(found(several.out), found(one.out)) << c.words;
    EXPECT_EQ(json_member(several.out, "backend"), by_mpi ? "\"mpi\"" : "\"processes\"") << c.words;
  }
}

TEST_F(RunOnRanks, SaysWhatDoesNotGoTogether) {
  const std::string job = "run --model mlp-small --set global-batch=64 --steps 2 --no-record";
  const std::pair<std::string, std::string> wrong[] = {
      {" --devices 2",
       "--devices: expected at least one device for each of the 4 processes that mpirun started, "
       "found 2; --devices 4 gives each its own\n"},
      {" --backend cpu",
       "--backend: expected mpi, which trains over the 4 processes that mpirun started, found "
       "\"cpu\", which trains in one\n"},
      {" --threads 2",
       "--threads: expected --backend cpu beside it, found \"mpi\", which does not know it\n"}};
  for (const auto& [words, sentence] : wrong) {
    const Ran ran = on_ranks(4, job + words, folder);
    EXPECT_EQ(ran.exit, kWrongInput) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err.substr(0, sentence.size()), sentence);
    EXPECT_EQ(ran.err.find(sentence, 1), std::string::npos) << ran.err;
  }
}

// After ":" are the words of another rank.
TEST_F(RunOnRanks, ARankThatIsAskedForAnotherRunIsNamed) {
  const std::string job =
      "run --model mlp-small --devices 2 --set global-batch=64 --data random --no-record";
  for (const std::string other : {" --steps 3", " --seed 7", " --set pp=2", " --evaluate"}) {
    const Ran ran = on_ranks(1,
                             job + " --steps 2 : -n 1 " TRAINYARD_PROGRAM " " + job +
                                 (other == " --steps 3" ? "" : " --steps 2") + other,
                             folder);
    EXPECT_EQ(ran.exit, kWrongInput) << other << ran.err;
    EXPECT_NE(ran.err.find("run: rank 1 was asked for another run than rank 0"), std::string::npos)
        << other << ran.err;
  }
}

TEST_F(RunOnRanks, AnyNumberOfProcessesGoesOnFromACheckpoint) {
  for (const std::string offload :
       {"none", "optimizer", "optimizer --set offload-tier=nvme --set precision=bf16",
        "none --set precision=bf16 --set main-weights-dtype=remainder --set "
        "first-moment-dtype=bf16"}) {
    const std::string job =
        "run --model gpt-tiny --cluster cpu:4,nvme-read=2GB/s,nvme-write=1GB/s --set pp=2 --set "
        "zero=1 --set global-batch=8 --set offload=" +
        offload + kRunsQuietly;
    const std::string file =
        " --checkpoint " + offload.substr(0, offload.find(' ')) + std::to_string(offload.size());
    const Ran whole = trainyard(job + " --steps 6", folder);
    ASSERT_EQ(whole.exit, kDone) << whole.err;
    ASSERT_EQ(on_ranks(4, job + " --steps 2" + file, folder).exit, kDone);
    ASSERT_EQ(on_ranks(3, job + " --steps 4 --resume" + file, folder).exit, kDone);
    const Ran last = trainyard(job + " --steps 6 --resume" + file, folder);
    ASSERT_EQ(last.exit, kDone) << last.err;
    EXPECT_EQ(json_member(last.out, "loss"), json_member(whole.out, "loss")) << offload;
  }
}

TEST_F(RunOnRanks, AreEvaluatedAsOneProcess) {
  const std::string job =
      "run --model mlp-small --devices 2 --set tp=2 --set global-batch=64 --steps 20 --evaluate"
      " --data fashion-mnist --no-record --quiet --json";
  const Ran one = trainyard(job, folder), two = on_ranks(2, job, folder);
  ASSERT_EQ(one.exit, kDone) << one.err;
  ASSERT_EQ(two.exit, kDone) << two.err;
  EXPECT_EQ(json_member(two.out, "evaluation"), json_member(one.out, "evaluation"));
}

TEST_F(RunOnRanks, CalibrateMeasuresTheirExchanges) {
  const std::string job = " --model mlp-small --devices 2 --set global-batch=64";
  const Ran measured =
      on_ranks(2, "calibrate --mpi" + job + " --seconds 0.1 --out c.json --json --quiet", folder);
  ASSERT_EQ(measured.exit, kDone) << measured.err;
  const Json json = parse_json(measured.out, "calibration");
  conforms(json, parse_json(json_schema("calibration"), "schema"), "calibration");
  // 9 sizes of messages and of four collectives.
  EXPECT_EQ(json.find("exchanges")->as_list()->size(), 45u);
  EXPECT_EQ(json.find("held-back")->as_list()->size(), 40u);
  const Ran ran =
      on_ranks(2, "run" + job + " --calibration c.json --steps 2" + kRunsQuietly, folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
}

// The launcher's own words may come before or after.
TEST_F(RunOnRanks, AProcessThatDiesEndsAllAndNothingIsLost) {
  const std::string job =
      "run --model mlp-small --devices 4 --set pp=4 --set global-batch=8 --steps 300 --checkpoint "
      "c" +
      kRunsQuietly;
  const std::string script =
      "mpirun --oversubscribe --bind-to none --allow-run-as-root -x ASAN_OPTIONS=detect_leaks=0 "
      "-n 4 " TRAINYARD_PROGRAM " " +
      job +
      " --checkpoint-every 1 </dev/null & p=$!; "
      "while kill -0 $p && [ ! -e c ]; do sleep 0.02; done; "
      "kill -9 $(ps -o pid= --ppid $p | sed -n 2p); "
      "timeout 10 tail --pid=$p -f /dev/null && echo ended; wait $p; echo exit $?";
  const Ran killed = run_program("/bin/sh", {"-c", script}, folder.path());
  EXPECT_NE(killed.out.find("ended\n"), std::string::npos) << killed.err;
  EXPECT_EQ(killed.out.find("exit 0\n"), std::string::npos) << killed.out;
  EXPECT_NE(killed.err.find("rank 1"), std::string::npos) << killed.err;
  const Ran resumed = on_ranks(2, job + " --resume", folder);
  ASSERT_EQ(resumed.exit, kDone) << resumed.err;
  const Ran whole = trainyard(job.substr(0, job.find(" --checkpoint c")) + kRunsQuietly, folder);
  ASSERT_EQ(whole.exit, kDone) << whole.err;
  EXPECT_EQ(json_member(resumed.out, "loss"), json_member(whole.out, "loss"));
}

}  // namespace
}  // namespace trainyard
