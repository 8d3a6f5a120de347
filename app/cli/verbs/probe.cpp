// probe: measures on this machine how the time of one op grows with one of its sizes.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/batch_text.h"
#include "app/cli/text/runs/probe_text.h"
#include "app/workspace/runs/kernel_probe.h"
#include "app/workspace/runs/sharpness/batch_probe.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "core/model/sized_op.h"
#include "visualizers/probe/batch_view.h"
#include "visualizers/probe/staircase_view.h"

namespace trainyard {
namespace {

// Without --vary, --batch has widths of its own.
ProbeQuestion probe_question(const Words& words) {
  ProbeQuestion question;
  question.op = words.text("op", "matmul");
  if (words.has("vary") || !words.has("batch"))
    question.varied = varied_size(words.text("vary", "n=112..208"));
  for (const std::string& text : words.texts("set")) add_size(question.sizes, text);
  question.pass =
      *pass_of(words.choice("pass", {"forward", "input-gradient", "weight-gradient"}, "forward"));
  question.rounds =
      static_cast<int>(words.integer("rounds", 1, 1000, words.has("batch") ? 15 : question.rounds));
  question.calibration = words.text("calibration");
  return question;
}

// A plan is probed by formula and simulated: nothing of it is measured here.
BatchStudy plan_study(const Words& words, Streams& streams, const std::stop_token& stop) {
  for (const char* flag : {"op", "vary", "pass", "rounds", "add-to"})
    if (words.has(flag))
      refuse_flag(flag, "expected none beside --model, whose products are not measured");
  for (const char* flag : {"train", "data", "products"})
    if (words.has(flag) && !words.has("sharpness"))
      refuse_flag(flag, "expected --sharpness beside it, which measures the loss");
  Scenario scenario = open_scenario(words, streams);
  const std::unique_ptr<CostModel> cost = open_costs(words, scenario);
  std::optional<StableBatch> stable;
  if (words.has("sharpness")) {
    SharpnessQuestion question;
    for (const std::string& text : words.texts("train")) apply_training(question.training, text);
    question.data = words.text("data"), question.stop = stop;
    question.options.most_products =
        static_cast<int>(words.integer("products", 1, 100'000, question.options.most_products));
    stable = stable_batch(scenario, std::move(question));
  }
  BatchStudy study = batch_probe(scenario, cost.get(), stop);
  study.stable = std::move(stable);
  return study;
}

void refuse_plan_words(const Words& words) {
  if (words.has("cost"))
    refuse_flag("cost",
                "expected --batch and --model beside it: an op is measured, and all prices "
                "stand beside that");
  for (const char* flag : {"sharpness", "train", "data", "products"})
    if (words.has(flag)) refuse_flag(flag, "expected --batch and --model beside it");
  for (const char* flag : {"model", "cluster", "plan"})
    if (words.has(flag))
      refuse_flag(flag, words.has("batch") && !words.has("model")
                            ? "expected --model beside it"
                            : "expected --batch beside it: without it one op of this machine is "
                              "probed, with --op");
}

BatchStudy op_batches(ProbeQuestion question, const Words& words) {
  for (const char* flag : {"add-to", "calibration"})
    if (words.has(flag))
      refuse_flag(flag, "expected none beside --batch and an op, which takes and gives no prices");
  return batch_probe(std::move(question));
}

// Reads the calibration of --add-to before anything is measured.
std::optional<Calibration> calibration_to_add_to(const Words& words) {
  if (!words.has("add-to")) return std::nullopt;
  const std::string path = words.text("add-to");
  Calibration calibration = read_calibration(read_file(path), path);
  if (!calibration.device.empty())
    refuse_flag("add-to",
                "expected a calibration of this machine, found one of " + calibration.machine);
  return calibration;
}

WidthProbe op_widths(const ProbeQuestion& question, const Words& words, Streams& streams) {
  std::optional<Calibration> calibration = calibration_to_add_to(words);
  WidthProbe probe = kernel_probe(question);
  if (!calibration) return probe;
  write_file(words.text("add-to"), write_calibration(with_probe(*std::move(calibration), probe)));
  if (!words.has("quiet")) streams.err << "wrote " << words.text("add-to") << "\n";
  return probe;
}

int answer(const BatchStudy& study, const Words& words, Streams& streams) {
  write_table_and_picture(batch_table(study), [&] { return batch_picture(study); }, words, streams);
  deliver(words.has("json") ? batch_document(study) : batch_text(study), words, streams);
  return kDone;
}

int answer(const WidthProbe& probe, const Words& words, Streams& streams) {
  write_table_and_picture(
      staircase_table(probe), [&] { return staircase_picture(probe); }, words, streams);
  deliver(words.has("json") ? probe_document(probe) : probe_text(probe), words, streams);
  return kDone;
}

int run_probe(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is measured
  const InterruptStop interrupt;
  if (words.has("batch") && words.has("model"))
    return answer(plan_study(words, streams, interrupt.token()), words, streams);
  refuse_plan_words(words);
  ProbeQuestion question = probe_question(words);
  question.stop = interrupt.token();
  StatusLine status(words, streams);
  question.progress = [&](double share) {
    if (share >= 1)
      status.clear();
    else if (status.is_due())
      status.show(fmt::format("measuring {:3.0f} %", 100 * share));
  };
  return words.has("batch") ? answer(op_batches(question, words), words, streams)
                            : answer(op_widths(question, words, streams), words, streams);
}

// "matmul (m, n, k), convolution (batch, ...)".
std::string ops_and_sizes() {
  std::string all;
  for (const SizedOp& op : sized_ops()) {
    std::string sizes;
    for (const OpSize& size : op.sizes)
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", size.name, size.usual);
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", op.name, sizes);
  }
  return all;
}

}  // namespace

Verb probe_verb() {
  static const std::string ops =
      "the op, with its sizes where --set does not say others: " + ops_and_sizes();
  std::vector<Flag> flags = {
      {"op", "NAME", ops},
      {"vary", "SIZE=WIDTHS",
       "the size that is swept, as n=112..208 (the default), n=64..1024:64 for every 64th, "
       "n=1..1024:x2 for doubles, or n=64,96,128"},
      {"pass", "PASS", "forward (default), input-gradient or weight-gradient"},
      {"rounds", "N",
       "measurements of each width, in an order of chance; else 31, or 15 with --batch"},
      {"batch", "",
       "intensity and rates by batch instead, and the ridge: of --op measured here, or of the "
       "products of --model on --cluster by formula, with the plan's critical batch simulated"},
      {"sharpness", "",
       "with --batch and --model: measures the curvature of the loss here at the initial weights, "
       "and says up to which batch the rate of training can grow in proportion to it"},
      {"train", "KEY=VALUE", "with --sharpness: one setting of training, as rate=0.1", true},
      {"data", "NAME", "with --sharpness: as run takes it"},
      {"products", "N",
       "with --sharpness: at most so many of the Hessian with a vector (default 100)"},
      {"add-to", "FILE",
       "adds the measured kernels to this calibration of this machine, for --cost learned"},
      calibration_flag(),
      cost_flag(),
      {"json", "", "one trainyard/probe@1 or, with --batch, trainyard/batch@1 document"}};
  for (const Flag& flag : table_and_picture_flags(
           "every width or batch as a row",
           "draws the staircase, or rates over the batch, there, beside the text"))
    flags.push_back(flag);
  flags = with_scenario_flags(std::move(flags));
  for (Flag& flag : flags)
    if (flag.name == "set")
      flag.doc = "a size of the op, as m=256; with --model a setting of the plan";
  return {
      .name = "probe",
      .summary =
          "Measures on this machine how a kernel's time steps with one size: free paddings and "
          "dear widths.",
      .flags = std::move(flags),
      .examples = {"probe --op matmul --vary n=120..136 --set m=64 --set k=64 --rounds 15",
                   "probe --op convolution --vary channels=28..36 --set image=8 --rounds 15",
                   "probe --batch --op matmul --set n=512 --set k=512 --rounds 15",
                   "probe --batch --model llama-3-8b --cluster h100-sxm:64 --set tp=8 --set zero=1",
                   "probe --batch --model mlp-small --cluster cpu:1 --set global-batch=16 --set "
                   "optimizer=sgd --sharpness --data random --train rate=0.05"},
      .run = run_probe};
}

}  // namespace trainyard
