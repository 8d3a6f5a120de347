#include "visualizers/recorded/straggler_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string counted(std::uint64_t count) { return format_count(static_cast<std::int64_t>(count)); }

}  // namespace

std::vector<StragglerSentence> straggler_sentences(const RecordedModel& model,
                                                   std::size_t kernels) {
  const RecordedTrace& t = model.trace;
  const Stragglers& found = model.stragglers;
  std::vector<StragglerSentence> said;
  for (const SlowProcess& one : found.processes)
    said.push_back({fmt::format("{:.2f} times the median process: {}, over {} kernels that others "
                                "have too",
                                one.ratio, t.processes[one.process].name, counted(one.spans)),
                    {}});
  for (const SlowStep& one : found.steps)
    said.push_back(
        {fmt::format("{:.2f} times the median step: step {}, {}{}", one.ratio, one.number,
                     format_duration(one.length),
                     one.kernels
                         ? fmt::format("; its kernels took {:.2f} times their median", *one.kernels)
                         : "; no kernel of it could be compared"),
         {}});
  for (std::size_t i = 0; i < std::min(kernels, found.kernels.size()); ++i) {
    const SlowKernels& one = found.kernels[i];
    const auto kind = static_cast<RecordedKind>(model.spans.category[one.longest]);
    said.push_back(
        {fmt::format("{:.2f} times the median kernel, {} more: {} of {} \"{}\" ({}) of {}",
                     one.ratio, format_duration(one.lost), counted(one.count), counted(one.of),
                     t.names[one.name], to_string(kind), t.processes[one.process].name),
         one.longest});
  }
  if (found.kernels.size() > kernels)
    said.push_back(
        {fmt::format("{} more kinds of kernels stand out", found.kernels.size() - kernels), {}});
  return said;
}

std::string straggler_scope(const RecordedModel& model) {
  const std::uint64_t judged = model.stragglers.judged;
  if (model.spans.start.size() > kMostCompared)
    return fmt::format(
        "Recordings of more than {} spans are not searched for what stands out. Read a part.",
        counted(kMostCompared));
  if (judged == 0)
    return "No kernel occurs eight times or more, so there is nothing to compare one with.";
  const Stragglers& found = model.stragglers;
  const bool nothing = found.processes.empty() && found.steps.empty() && found.kernels.empty();
  return nothing
             ? fmt::format("Nothing stands out of {} kernels that were compared.", counted(judged))
             : fmt::format("{} kernels were compared, each with others of its name and sizes.",
                           counted(judged));
}

}  // namespace trainyard
