// run: trains for real on this machine, and says what was measured beside what was predicted.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/status_line.h"
#include "app/cli/text/literature.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/rule_text.h"
#include "app/cli/text/runs/repeats_text.h"
#include "app/cli/text/runs/run_text.h"
#include "app/cli/together.h"
#include "app/workspace/runs/repeats.h"
#include "app/workspace/runs/run_document.h"
#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/run_store.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/workspace.h"
#include "backends/launch.h"
#include "backends/local/local_launch.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/exporters/trace_event.h"
#include "core/io/bytes/file_writer.h"
#include "core/training/checkpoint.h"
#include "core/training/optimizers/layer_ratios.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/numbers/numbers_view.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

// One line that is written over on a terminal, and a line for every tenth elsewhere.
class Progress {
 public:
  Progress(const Words& words, Streams& streams, LiveSink& live, std::int64_t steps)
      : err_(streams.err),
        line_(words, streams),
        live_(live),
        steps_(steps),
        quiet_(words.has("quiet")) {}

  void update() {
    live_.drain(spans_, memory_, updates_);
    for (const LiveMemory& sample : memory_) most_ = std::max(most_, total(sample.bytes));
    spans_.clear(), memory_.clear();
    if (updates_.empty()) return;
    const LiveStep last = updates_.back();
    const Duration took = last.at - last_at_;
    const std::int64_t did = last.step - last_step_;
    updates_.clear();
    last_at_ = last.at, last_step_ = last.step;
    if (quiet_) return;
    const bool end = last.step >= steps_;
    const auto now = std::chrono::steady_clock::now();
    const bool over = line_.is_shown();
    if (over && !end && now - shown_ < std::chrono::milliseconds(100)) return;
    if (!over && !end && 10 * last.step / steps_ == tenth_) return;
    shown_ = now, tenth_ = 10 * last.step / steps_;
    std::string text = fmt::format("step {}/{}  loss {}  {} a step", last.step, steps_,
                                   loss_text(last.loss), readable(did > 0 ? took / did : took));
    if (most_ > Bytes{}) text += "  peak " + readable(most_);
    if (last.orthogonality)
      text += fmt::format("  orthogonality {:.2f}", mean_ratio(*last.orthogonality));
    if (batch_ != 0 && batch_ != last.batch) grows_ = true;
    batch_ = last.batch;
    if (grows_) text += fmt::format("  batch {}", batch_);
    line_.show(text);
    if (!over) err_ << text << std::endl;
    if (end) line_.keep();
  }
  /// Leaves the line that would have been written over.
  void finish() {
    update();
    line_.keep();
  }

 private:
  std::ostream& err_;
  StatusLine line_;
  LiveSink& live_;
  const std::int64_t steps_;
  const bool quiet_;
  std::chrono::steady_clock::time_point shown_{};
  std::int64_t tenth_ = -1, last_step_ = 0, batch_ = 0;
  bool grows_ = false;
  Instant last_at_{};
  Bytes most_{};
  std::vector<LiveSpan> spans_;
  std::vector<LiveMemory> memory_;
  std::vector<LiveStep> updates_;
};

[[noreturn]] void refuse_run_flag(const std::string& flag, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {"--" + flag});
}

// Which backend trains, which one checks it, and the flags that do not go together with them.
void read_backends(const Words& words, const Launch& started, TrainingRequest& request) {
  const bool several = started.count > 1;
  const std::string usual = !several ? "cpu" : started.launcher == kByItself ? "processes" : "mpi";
  request.backend = words.text("backend", usual);
  // Whoever started the processes connects them, whichever of the two names was typed.
  if (several && over_processes(request.backend)) request.backend = usual;
  request.check = words.text("check");
  request.timeline = words.text("timeline");
  request.replay = words.text("replay");
  const auto refuse_beside = [&](const std::string& why, const std::vector<std::string>& flags) {
    for (const std::string& flag : flags)
      if (words.has(flag)) refuse_run_flag(flag, why);
  };
  if (words.has("replay"))
    refuse_beside("expected no --replay beside it, with which nothing is trained",
                  {"backend", "check", "timeline", "checkpoint", "checkpoint-every", "resume",
                   "start-from", "evaluate", "numbers"});
  const BackendEntry& backend = training_backend(request.backend, {"--backend"});
  const bool divided = over_processes(backend.name);
  if (several && !divided)
    refuse_run_flag("backend",
                    fmt::format("expected {}, which trains over the {} processes that {} started, "
                                "found \"{}\", which trains in one",
                                usual, started.count, started.launcher, backend.name));
  if (backend.name != "cpu")
    refuse_beside(fmt::format("expected --backend cpu beside it, found \"{}\", which does not know "
                              "it",
                              backend.name),
                  divided
                      ? std::vector<std::string>{"mode", "threads", "check"}
                      : std::vector<std::string>{"mode", "threads", "checkpoint",
                                                 "checkpoint-every", "resume", "rules", "numbers"});
  if (!backend.measures)
    refuse_beside(fmt::format("expected a backend that measures time, found \"{}\"; \"cpu\" does",
                              backend.name),
                  {"timeline", "trace", "svg"});
  if (!words.has("check")) return;
  const BackendEntry& check = training_backend(request.check, {"--check"});
  if (check.name == backend.name)
    refuse_run_flag("check", fmt::format("expected another backend than the one that trains, found "
                                         "\"{}\" twice",
                                         check.name));
  refuse_beside("expected no --check beside it, which begins with the first step on both backends",
                {"resume"});
}

// --devices N and --memory-limit say what --cluster cpu:N,memory=... says in one word.
std::string cluster_words(const Words& words, int processes) {
  if (words.has("cluster")) {
    for (const char* flag : {"devices", "memory-limit"})
      if (words.has(flag))
        refuse_run_flag(flag,
                        "expected either --cluster or --" + std::string(flag) + ", found both");
    return words.text("cluster");
  }
  const std::int64_t devices = words.integer("devices", 1, 256, processes);
  Bytes memory{};
  if (words.has("memory-limit")) {
    memory = parse_bytes(words.text("memory-limit"), {"--memory-limit"});
    if (memory.value <= 0) refuse_run_flag("memory-limit", "expected more than 0 bytes");
  }
  return local_cluster(devices, memory).name;
}

Training training_of(const Words& words) {
  Training training;
  for (const std::string& assignment : words.texts("train")) apply_training(training, assignment);
  training.steps = words.integer("steps", 1, 1'000'000'000, training.steps);
  training.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, INT64_MAX, static_cast<std::int64_t>(training.seed)));
  return training;
}

CpuOptions options_of(const Words& words, bool divided, bool first) {
  CpuOptions options;
  const std::string usual = divided ? "wall" : "virtual";
  options.mode = words.choice("mode", {"virtual", "wall"}, usual) == "wall" ? RunMode::WallClock
                                                                            : RunMode::VirtualTime;
  options.threads = static_cast<int>(words.integer("threads", 0, 4096, 0));
  options.checkpoint = words.text("checkpoint");
  options.checkpoint_every = words.integer("checkpoint-every", 1, 1'000'000'000, 0);
  options.resume = words.has("resume");
  if (!words.has("checkpoint") && (options.resume || options.checkpoint_every > 0))
    refuse_run_flag(options.resume ? "resume" : "checkpoint-every",
                    "expected --checkpoint FILE beside it, which says where");
  if (words.has("checkpoint") && first) expect_writable(options.checkpoint);
  return options;
}

// Steps between two looks at the run's numbers; 0 for none.
std::int64_t number_interval(const Words& words) {
  if (words.has("numbers-svg") && !words.has("numbers"))
    refuse_run_flag("numbers-svg", "expected --numbers beside it, found none");
  if (!words.has("numbers")) return 0;
  if (words.text("numbers").empty()) return kNumberInterval;
  return words.integer("numbers", 1, 1'000'000'000, kNumberInterval);
}

void write_pictures(const TrainingReport& report, const Words& words, Streams& streams,
                    std::shared_ptr<const CostModel> cost) {
  if (words.has("numbers-svg") && report.numbers)
    write_file(words.text("numbers-svg"), to_svg(numbers_picture(*report.numbers), Theme::Light));
  if (!report.measured) {
    for (const char* flag : {"timeline", "trace", "svg"})
      if (words.has(flag))
        streams.err << "warning: no step was measured whole, so that " << words.text(flag)
                    << " was not written\n";
    return;
  }
  if (words.has("trace")) write_file(words.text("trace"), trace_event(*report.measured));
  if (!words.has("svg")) return;
  const View& timeline = view("timeline");
  const ViewData data(report.measured, std::move(cost));
  write_file(words.text("svg"), to_svg(timeline.draw(data, timeline.size, {}), Theme::Light));
}

// A list that cannot be written is no reason to throw away what was trained: then there is no id.
std::optional<std::int64_t> record(const RecordedRun& run, const Words& words, Streams& streams) {
  try {
    const std::int64_t id = RunStore(run_store_path()).add(run);
    if (!words.has("quiet")) streams.err << "recorded as run " << id << "\n";
    return id;
  } catch (const Error& error) {
    streams.err << "warning: the run was not recorded: " << describe(error) << "\n";
    return std::nullopt;
  }
}

RecordedRun recorded(const TrainingReport& report, const RunWords& asked) {
  return record_of(report, asked, utc_text(std::chrono::system_clock::now()));
}

// A run that has been asked for, ready to start.
struct Asked {
  std::unique_ptr<TrainingJob> job;
  std::shared_ptr<const CostModel> cost;
  RunWords words;
  std::int64_t steps = 0;
  bool trains = true;
};

// A run that has been asked for, before it is prepared.
struct RunQuestion {
  TrainingRequest request;
  RunWords words;
};

RunQuestion read_question(const Words& words, const Launch& started, Processes* processes,
                          Streams& streams) {
  RunQuestion question;
  TrainingRequest& request = question.request;
  read_backends(words, started, request);
  if (started.rank > 0) request.timeline.clear();  // the first process has all of it
  request.training = training_of(words);
  request.options = options_of(words, over_processes(request.backend), started.rank == 0);
  request.options.processes = processes;
  request.data = words.text("data");
  request.start_from = words.text("start-from");
  request.rules = rule_watch(words);
  request.numbers = number_interval(words);
  Words scenario_words = words;
  const std::string cluster = cluster_words(words, started.count);
  if (!words.has("cluster")) scenario_words.add("cluster", cluster);
  request.scenario = open_scenario(scenario_words, streams);
  request.cost = open_costs(words, request.scenario);
  request.options.variants = open_variants(prices_word(words));
  question.words = {{words.text("model"), scenario_words.text("cluster"), words.text("plan"),
                     scenario_words.texts("set")},
                    request.training,
                    prices_word(words)};
  if (words.has("order"))
    question.words.request.settings.push_back("order=" + request.scenario.plan.order);
  return question;
}

Asked prepare_run(RunQuestion question, const Launch& started, std::stop_token stop,
                  std::function<void(double)> progress) {
  TrainingRequest& request = question.request;
  Asked asked{nullptr, request.cost, std::move(question.words), request.training.steps,
              request.replay.empty()};
  request.run.stop = std::move(stop);
  request.run.progress = std::move(progress);
  asked.job = std::make_unique<TrainingJob>(std::move(request));
  if (asked.trains && asked.job->devices() < started.count)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least one device for each of the {} processes that {} "
                            "started, found {}; --devices {} gives each its own",
                            started.count, started.launcher, asked.job->devices(), started.count),
                {"--devices"});
  return asked;
}

// Everything that processes do together depends on.
std::string question_text(const Asked& asked, const Words& words) {
  std::string text =
      fmt::format("{} {}", digest(asked.job->predicted()->program), words.text("data"));
  for (const TrainingKey& key : training_keys())
    text += fmt::format(" {}={}", key.key, key.read(asked.words.training));
  for (const char* flag : {"checkpoint", "checkpoint-every", "resume", "start-from", "evaluate",
                           "rules", "rule-interval", "on-rule", "numbers"})
    text += fmt::format(" {}", words.has(flag) ? words.text(flag) : "none");
  return text;
}

int finish_run(const TrainingReport& report, const Asked& asked, const Words& words,
               Streams& streams) {
  write_pictures(report, words, streams,
                 asked.cost ? asked.cost : cost_model(report.predicted->workload.scenario));
  if (asked.trains && !words.has("no-record"))
    record(recorded(report, asked.words), words, streams);
  deliver(words.has("json") ? run_document(report) : run_text(report), words, streams);
  if (!report.checked || report.checked->agrees()) return kDone;
  streams.err << check_sentence(report) << "\n";
  return kNotMet;
}

int run_here(const Words& words, const Launch& started, Processes* processes, Streams& streams) {
  const InterruptStop interrupt;
  std::optional<Progress> progress;
  const auto update = [&](double) {
    if (progress) progress->update();
  };
  Asked asked;
  const auto read = [&] {
    asked = prepare_run(read_question(words, started, processes, streams), started,
                        interrupt.token(), update);
  };
  // One that has taken another's place was asked for what that one was asked for.
  const bool begins = processes != nullptr && !processes->took_place();
  begins ? begin_together(*processes, read) : read();
  if (begins) expect_one_question(*processes, question_text(asked, words), "run", "run");
  if (asked.trains && !asked.job->fits()) {
    if (started.rank > 0) return kDone;
    streams.err << "not started: " << asked.job->predicted()->result.verdict.sentence << "\n";
    return kNotMet;
  }
  LiveSink live(asked.job->devices(), std::size_t{1} << 13);
  progress.emplace(words, streams, live, asked.steps);
  TrainingReport report;
  const auto train = [&] { report = asked.job->run(words.has("evaluate"), &live); };
  try {
    processes != nullptr ? work_together(*processes, streams, train) : train();
    progress->finish();
    return started.rank == 0 ? finish_run(report, asked, words, streams) : kDone;
  } catch (const Error& error) {
    progress->finish();
    if (error.kind() != Error::Kind::OutOfMemory) throw;
    streams.err << describe(error) << "\n";
    return kNotMet;
  }
}

/// Marks all repeats with a tag by which compare finds them: that of the first one's number.
void tag_repeat(std::int64_t id, std::int64_t first, Streams& streams) {
  try {
    RunStore(run_store_path()).add_tag(id, fmt::format("repeat-{}", first));
  } catch (const Error& error) {
    streams.err << "warning: run " << id << " was not tagged: " << describe(error) << "\n";
  }
}

// Trains the same plan many times; between runs only seeds differ.
int run_repeats(const Words& words, Streams& streams) {
  for (const char* flag : {"replay", "check", "checkpoint", "checkpoint-every", "resume",
                           "timeline", "trace", "svg", "rules", "numbers"})
    if (words.has(flag))
      refuse_run_flag(flag, "expected no --repeat beside it, because it is about one run");
  if (launch().count > 1)
    refuse_run_flag("repeat", fmt::format("expected one process, found {} that {} started",
                                          launch().count, launch().launcher));
  const std::int64_t count = words.integer("repeat", 2, 10'000, 2);
  const InterruptStop interrupt;
  const RunQuestion question = read_question(words, {}, nullptr, streams);
  const Scenario& scenario = question.request.scenario;
  RunRepeats repeats;
  repeats.model = scenario.model.name, repeats.cluster = scenario.cluster.name;
  repeats.varied = read_varied(words.text("vary", "all"), scenario, words.text("data"));
  std::optional<std::int64_t> first;
  for (std::int64_t i = 0; i < count && !interrupt.token().stop_requested(); ++i) {
    std::optional<Progress> progress;
    const auto update = [&](double) {
      if (progress) progress->update();
    };
    RunQuestion next = question;
    next.words.training = next.request.training =
        repeat_of(question.request.training, repeats.varied, i);
    const Asked asked = prepare_run(std::move(next), {}, interrupt.token(), update);
    if (!asked.job->fits()) {
      streams.err << "not started: " << asked.job->predicted()->result.verdict.sentence << "\n";
      return kNotMet;
    }
    if (!words.has("quiet")) streams.err << fmt::format("repeat {} of {}\n", i + 1, count);
    LiveSink live(asked.job->devices(), std::size_t{1} << 13);
    progress.emplace(words, streams, live, asked.steps);
    const TrainingReport report = asked.job->run(words.has("evaluate"), &live);
    progress->finish();
    if (report.run.stopped) break;
    RecordedRun run = recorded(report, asked.words);
    if (!words.has("no-record"))
      if (const auto id = record(run, words, streams)) {
        run.entry.id = *id;
        if (!first) first = id;
        tag_repeat(*id, *first, streams);
      }
    repeats.scores.push_back(score_of(run));
  }
  repeats.stopped = static_cast<std::int64_t>(repeats.scores.size()) < count;
  if (first) repeats.tag = fmt::format("repeat-{}", *first);
  deliver(words.has("json") ? repeats_document(repeats) : repeats_text(repeats), words, streams);
  return kDone;
}

// Ranks of cpr are replaced where they are lost. Rules and numbers have seen the steps before,
// which a process in a lost one's place has not.
bool survives_losses(const Words& words) {
  Training training;
  for (const std::string& assignment : words.texts("train"))
    if (assignment.starts_with("cpr")) apply_training(training, assignment);
  return training.recovery.on() && !words.has("rules") && !words.has("numbers");
}

// The sentence with which a run ends that has lost a process.
std::string goes_on_from(const Words& words) {
  const std::string file = words.text("checkpoint");
  if (file.empty())
    return "all have ended, and nothing of the run was saved: --checkpoint FILE with "
           "--checkpoint-every N keeps states of it";
  if (!std::filesystem::exists(file))
    return fmt::format("all have ended, and {} was not written yet: the run begins anew", file);
  try {
    return fmt::format(
        "all have ended, and {} holds the run after update {}: with --resume it goes on from "
        "there, with any number of processes",
        file, load_checkpoint(file).step);
  } catch (const Error& error) {
    return fmt::format("all have ended, and {} is not of this run: {}", file, error.what());
  }
}

// Starts the processes of --processes and returns their exit code; nothing where this one is to do
// the work itself.
std::optional<int> run_by_processes(const Words& words, Streams& streams) {
  if (!words.has("processes")) return std::nullopt;
  const auto count = static_cast<int>(words.integer("processes", 1, kMostLocalProcesses, 1));
  const Launch started = launch();
  if (started.launcher == kByItself) return std::nullopt;
  if (started.count > 1)
    refuse_run_flag("processes", fmt::format("expected no --processes beside {}, which has started "
                                             "{} processes itself",
                                             started.launcher, started.count));
  for (const char* flag : {"replay", "repeat"})
    if (words.has(flag))
      refuse_run_flag(flag, "expected no --processes beside it, because one process does it");
  if (count == 1) return std::nullopt;
  return launch_processes(
      count, survives_losses(words), [&] { return goes_on_from(words); }, streams.err);
}

int run_run(const Words& words, Streams& streams) {
  if (words.texts("train") == std::vector<std::string>{"help"}) {
    if (launch().rank == 0) streams.out << training_settings();
    return kDone;
  }
  if (const std::optional<int> code = run_by_processes(words, streams)) return *code;
  if (words.has("repeat")) return run_repeats(words, streams);
  if (words.has("vary"))
    refuse_run_flag("vary", "expected --repeat N beside it, which trains more than once");
  const Launch started = words.has("replay") ? Launch{} : launch();
  if (started.count == 1)
    return launch().rank > 0 ? kDone : run_here(words, started, nullptr, streams);
  const std::unique_ptr<Processes> processes = join_processes();
  if (started.rank == 0) return run_here(words, started, processes.get(), streams);
  // Only the first process speaks, but for one that cannot go on.
  Words silent = words;
  silent.add("quiet", "");
  return run_here(silent, started, processes.get(), streams);
}

}  // namespace

Verb run_verb() {
  return {
      .name = "run",
      .summary =
          "Trains for real on this machine: loss, and what was measured beside the forecast.",
      .flags = with_scenario_flags(
          {{"devices", "N", "on so many virtual devices of this machine, as --cluster cpu:N"},
           {"memory-limit", "SIZE", "hard limit of each device, as 256MiB; else 1 GiB"},
           {"backend", "NAME",
            "cpu (default), reference: one core, 8-byte numbers, no times, or over all processes "
            "mpi (default under mpirun and srun) or processes (with --processes)"},
           {"check", "NAME",
            "trains on that backend too, from the same weights and on the same data; exit 3 when "
            "they differ, and where"},
           {"timeline", "FILE", "writes the measured timeline as a document for --replay too"},
           {"replay", "FILE",
            "trains nothing: what such a document measured, held against the forecast"},
           {"mode", "MODE",
            "virtual (default): every device as if it had a core of its own; wall: as fast as it "
            "goes"},
           {"processes", "N",
            "over so many processes of this machine, as under mpirun -n N, without MPI; with "
            "cpr, those that cpr-kill names are killed and others take their place"},
           {"threads", "N", "wall: at most so many at once; else as many as there are cores"},
           {"steps", "N", "updates to train for; else 100"},
           {"train", "KEY=VALUE",
            "one setting of training, as rate=0.1 or schedule=cosine; help lists them", true},
           {"data", "NAME",
            "fashion-mnist, fashion-mnist-augmented, licenses, clicks, cart-pole, "
            "cart-pole-policy, "
            "random or text:FILE; else chosen to suit the model"},
           {"seed", "N", "of weights, order of data, dropout; the same gives the same bits"},
           {"repeat", "N",
            "trains so many times, with other seeds each time; two plans repeated alike are pairs "
            "for compare runs:tag:repeat-ID"},
           {"vary", "LIST",
            "draws only these anew in each repeat: order, weights, dropout, augmentation, "
            "rounding, "
            "split, noise, or all (default): those that the run has"},
           {"checkpoint", "FILE",
            "written at the end and when stopped by Ctrl-C, SIGTERM or SIGHUP"},
           {"checkpoint-every", "N", "and every so many updates"},
           {"resume", "", "goes on from the checkpoint where there is one"},
           {"start-from", "FILE",
            "begins with the weights in the checkpoint of another run, of any plan, and with "
            "nothing else of it; says which it has not"},
           {"evaluate", "",
            "afterwards, on data that it was not trained on; a model that acts plays 20 episodes"},
           {"rules", "[LIST]",
            "watches the run by rules: all, names or RULE.SETTING=VALUE with commas between them; "
            "\"trainyard help rules\" lists them"},
           {"rule-interval", "N", "rules look at the first step and at every Nth; else 50"},
           {"on-rule", "DO", "report (default), or stop: the run ends with the step that fires"},
           {"numbers", "[EVERY]",
            "counts weights, gradients and activations by exponent at the first step, every so "
            "many (else 50) and the last, and the updates that rounding cancels"},
           {"numbers-svg", "FILE", "draws these, with the range of the plan's format"},
           calibration_flag(),
           cost_flag(),
           order_flag(),
           {"json", "",
            "one trainyard/run@1 document, of repeats trainyard/repeats@1, and nothing else"},
           {"no-record", "", "leaves it out of the list of \"trainyard runs\""},
           {"trace", "FILE", "writes the measured timeline for ui.perfetto.dev too"},
           {"svg", "FILE", "writes the measured timeline as a picture too"}}),
      .examples = {"run --model mlp-small --devices 2 --set global-batch=64 --set precision=fp32 "
                   "--steps 20 --data random",
                   "run --model gpt-tiny --devices 4 --set pp=4 --set global-batch=8 --set "
                   "precision=fp32 --steps 4 --data random --json",
                   "run --model mlp-small --devices 2 --set pp=2 --set global-batch=8 --set "
                   "precision=fp32 --set optimizer=momentum --steps 2 --data random --check "
                   "reference"},
      .splits = true,
      .run = run_run};
}

}  // namespace trainyard
