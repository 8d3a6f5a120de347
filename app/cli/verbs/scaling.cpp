// scaling: shows what more or fewer devices do to a training, and up to how many adding devices
// pays.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/clusters/scaling_text.h"
#include "app/cli/text/plans/bound_words.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/plans/scaling_study.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/number_text.h"
#include "core/cluster/cluster.h"
#include "visualizers/scaling/scaling_view.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostCounts = 64;  // numbers of devices of one study

// Reads "8,16,32".
std::vector<std::int64_t> counts_of(const std::string& text) {
  std::vector<std::int64_t> counts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, end - from);
    const auto count = number_of<std::int64_t>(word);
    if (!count || *count < 1 || *count > kMostDevices)
      refuse_flag("devices", fmt::format("expected numbers of devices from 1 to {}, as 8,16,32, "
                                         "found \"{}\"",
                                         kMostDevices, word.substr(0, 80)));
    counts.push_back(*count);
    from = end + 1;
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.size() > kMostCounts)
    refuse_flag("devices", fmt::format("expected at most {} numbers of devices, found {}",
                                       kMostCounts, counts.size()));
  return counts;
}

ScalingQuestion scaling_question(const Words& words) {
  ScalingQuestion question;
  if (words.has("devices")) question.devices = counts_of(words.text("devices"));
  question.searched = words.choice("degrees", {"fixed", "searched"}, "fixed") == "searched";
  question.bounds = bounds_of(words);
  if (!question.searched && !question.bounds.empty())
    refuse_flag("bound", "expected --degrees searched beside it: fixed degrees have no bounds");
  question.calibration = prices_word(words);
  return question;
}

int run_scaling(const Words& words, Streams& streams) {
  ScalingQuestion question = scaling_question(words);
  theme_of(words);  // refused before anything is computed
  Scenario scenario = open_scenario(words, streams);
  open_costs(words, scenario);  // a calibration also raises the cluster's peaks
  const InterruptStop interrupt;
  question.stop = interrupt.token();
  const ScalingStudy study = scaling_study(scenario, question);
  write_table_and_picture(
      scaling_table(study), [&] { return scaling_picture(study); }, words, streams);
  deliver(words.has("json") ? scaling_document(study) : scaling_text(study), words, streams);
  return study.strong.pays || study.weak.pays ? kDone : kNotMet;
}

}  // namespace

Verb scaling_verb() {
  std::vector<Flag> flags = {
      {"degrees", "WHICH",
       "fixed (default): only dp differs; searched: the best tp, pp, cp, ep, micro-batch and "
       "virtual-stages for each number of devices"},
      {"devices", "N,N,...",
       "numbers of devices (default: doubles and halves of the cluster's, from one replica to 16 "
       "times)"},
      {"bound", "KEY=VALUES",
       "of searched: what a degree may be, or a further knob, as recompute=none,full", true}};
  for (const Flag& flag : table_and_picture_flags("every point of both curves as a row",
                                                  "draws both curves there, beside the text"))
    flags.push_back(flag);
  flags.push_back(calibration_flag());
  flags.push_back(cost_flag());
  flags.push_back({"json", "", "one trainyard/scaling@1 document and nothing else"});
  return {
      .name = "scaling",
      .summary =
          "Strong and weak scaling: step, throughput, MFU and cost over the number of devices.",
      .flags = with_scenario_flags(std::move(flags)),
      .examples = {"scaling --model llama-3-70b --cluster h100-sxm:64 --set tp=8 --set pp=4 --set "
                   "zero=1 --set global-batch=512",
                   "scaling --model llama-3-8b --cluster h100-sxm:16 --set tp=2 --set zero=1 --set "
                   "global-batch=64 --degrees searched --devices 8,16,32"},
      .run = run_scaling};
}

}  // namespace trainyard
