#include "app/workspace/runs/kernel_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/workspace/scenario/refuse_flag.h"
#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/probe.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/cluster/device.h"
#include "core/cost/calibrated.h"
#include "core/cost/kernel_times.h"
#include "core/cost/kernels/learned_kernels.h"
#include "core/cost/local_core.h"
#include "core/io/documents/measured_prices.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr int kMostRounds = 1000;

[[noreturn]] void refuse_varied(const std::string& text) {
  refuse_flag("vary", fmt::format("expected a size and its widths, as n=112..208, n=64..1024:64, "
                                  "n=1..1024:x2 or n=64,96,128, found \"{}\"",
                                  text.substr(0, 80)));
}

std::int64_t width_of(std::string_view word, const std::string& text) {
  const auto width = number_of<std::int64_t>(word);
  if (!width || *width < 1) refuse_varied(text);
  return *width;
}

std::vector<std::int64_t> range_of(std::string_view words, std::size_t dots,
                                   const std::string& text) {
  const std::size_t colon = std::min(words.find(':'), words.size());
  if (colon < dots) refuse_varied(text);
  const std::int64_t first = width_of(words.substr(0, dots), text),
                     last = width_of(words.substr(dots + 2, colon - dots - 2), text);
  std::string_view by = colon < words.size() ? words.substr(colon + 1) : "1";
  const bool times = by.starts_with("x");
  if (times) by.remove_prefix(1);
  const std::int64_t step = width_of(by, text);
  if (times && step < 2) refuse_varied(text);
  std::vector<std::int64_t> widths;
  for (std::int64_t width = first; width <= last && widths.size() <= kMostWidths;) {
    widths.push_back(width);
    if (times ? width > last / step : width > last - step) break;
    width = times ? width * step : width + step;
  }
  return widths;
}

std::vector<std::int64_t> listed_widths(std::string_view words, const std::string& text) {
  std::vector<std::int64_t> widths;
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t end = std::min(words.find(',', from), words.size());
    widths.push_back(width_of(words.substr(from, end - from), text));
    from = end + 1;
  }
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  return widths;
}

// Kernels alone are compared, so that what an executor adds to each is not part of a price.
std::unique_ptr<CostModel> priced_kernels(Calibration calibration, OtherShapes by) {
  calibration.overhead = Duration{};
  calibration.other_shapes = by;
  return calibrated_cost_model(std::move(calibration));
}

void add_prices(WidthProbe& probe, const std::string& word) {
  const MeasuredPrices prices = open_measured_prices(word);
  const auto* calibration = std::get_if<Calibration>(&prices);
  if (calibration == nullptr || !calibration->device.empty())
    refuse_flag("calibration",
                "expected a calibration of this machine's kernels, as \"trainyard calibrate --out "
                "FILE\" writes it, found " +
                    provenance(prices));
  probe.calibration = provenance(prices);
  const Device core = device("cpu");
  const auto interpolated = priced_kernels(*calibration, OtherShapes::Interpolated);
  const auto learned = calibration->kernels.size() >= LearnedKernels::kLeastShapes
                           ? priced_kernels(*calibration, OtherShapes::Learned)
                           : nullptr;
  for (ProbedWidth& width : probe.widths) {
    width.calibrated = to_seconds(interpolated->compute(width.work, core));
    if (learned != nullptr) width.learned = to_seconds(learned->compute(width.work, core));
  }
}

std::vector<std::vector<double>> probed(std::span<const Graph> graphs,
                                        const ProbeQuestion& question) {
  with_place("--pass", [&] { expect_pass(graphs.front(), question.pass); });
  return with_place("--set", [&] {
    return probe(graphs, {.pass = question.pass,
                          .rounds = question.rounds,
                          .seed = question.seed,
                          .stop = question.stop,
                          .progress = question.progress});
  });
}

void expect_rounds(const ProbeQuestion& question) {
  const int least = least_rounds(question.varied.widths.size());
  if (question.rounds < least || question.rounds > kMostRounds)
    refuse_flag("rounds",
                fmt::format("expected {} to {} rounds, which intervals over {} widths take, found "
                            "{}",
                            least, kMostRounds, question.varied.widths.size(), question.rounds));
}

}  // namespace

Calibration with_probe(Calibration calibration, const WidthProbe& probe) {
  for (const ProbedWidth& width : probe.widths) {
    KernelTimes times{width.work, {}};
    for (const double took : width.seconds) times.times.push_back(seconds(took).count());
    const auto same = std::find_if(
        calibration.kernels.begin(), calibration.kernels.end(),
        [&](const KernelTiming& t) { return kernel_place(t.work) == kernel_place(width.work); });
    if (same != calibration.kernels.end())
      *same = timing_of(times);
    else
      calibration.kernels.push_back(timing_of(times));
  }
  calibration.notes.push_back(fmt::format(
      "{} over {}={}..{} was probed alone, with operands as warm as caches keep them",
      probed_words(probe), probe.varied, probe.widths.front().width, probe.widths.back().width));
  return calibration;
}

std::string_view pass_word(Pass pass) {
  return pass == Pass::Forward         ? "forward"
         : pass == Pass::BackwardInput ? "input-gradient"
                                       : "weight-gradient";
}

std::optional<Pass> pass_of(std::string_view word) {
  for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
    if (word == pass_word(pass)) return pass;
  return std::nullopt;
}

double core_roofline(const Work& work) {
  static const Device core = device("cpu");
  const CoreTime parts = local_core_time(work, core);
  return parts.start + std::max(parts.arithmetic, parts.traffic);
}

VariedSize varied_size(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse_varied(text);
  VariedSize varied{text.substr(0, equals), {}};
  const std::string_view words = std::string_view(text).substr(equals + 1);
  const std::size_t dots = words.find("..");
  varied.widths =
      dots == std::string_view::npos ? listed_widths(words, text) : range_of(words, dots, text);
  if (varied.widths.size() < 2 || varied.widths.size() > kMostWidths)
    refuse_flag("vary", fmt::format("expected 2 to {} widths, found {} in \"{}\"", kMostWidths,
                                    varied.widths.size() > kMostWidths
                                        ? std::string("more")
                                        : std::to_string(varied.widths.size()),
                                    text.substr(0, 80)));
  return varied;
}

void add_size(OpSizes& sizes, const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto value = equals == std::string::npos
                         ? std::nullopt
                         : number_of<std::int64_t>(std::string_view(text).substr(equals + 1));
  if (!value || equals == 0)
    refuse_flag("set", fmt::format("expected a size of the op, as m=256, found \"{}\"",
                                   text.substr(0, 80)));
  sizes[text.substr(0, equals)] = *value;
}

WidthProbe kernel_probe(const ProbeQuestion& question) {
  const SizedOp& op = with_place("--op", [&]() -> const SizedOp& { return sized_op(question.op); });
  for (const std::int64_t width : {question.varied.widths.front(), question.varied.widths.back()})
    with_place("--vary", [&] { expect_size(op, question.varied.name, width); });
  for (const auto& [name, value] : question.sizes)
    with_place("--set", [&, &name = name, value = value] { expect_size(op, name, value); });
  if (question.sizes.count(question.varied.name) > 0)
    refuse_flag("set", question.varied.name + " is varied, expected another size");
  expect_rounds(question);
  WidthProbe probe;
  probe.op = op.name, probe.pass = pass_word(question.pass), probe.varied = question.varied.name;
  for (const auto& size : complete_sizes(op, question.sizes))
    if (size.first != probe.varied) probe.sizes.push_back(size);
  std::vector<Graph> graphs;
  for (const std::int64_t width : question.varied.widths) {
    OpSizes sizes = question.sizes;
    sizes[probe.varied] = width;
    graphs.push_back(with_place("--vary", [&] { return graph_of(op, sizes); }));
    const Node& node = graphs.back().nodes.front();
    Work work = node.op->work({graphs.back(), node, Binding{}, Precision{}}, question.pass);
    work.kernel = kernel_of(*node.op, question.pass);
    probe.widths.push_back({.width = width, .roofline = core_roofline(work), .work = work});
  }
  if (!question.calibration.empty()) add_prices(probe, question.calibration);
  probe.machine = describe_machine();
  std::vector<std::vector<double>> seconds = probed(graphs, question);
  probe.rounds = static_cast<int>(seconds.front().size());
  if (probe.rounds < least_rounds(graphs.size()))
    throw Error(Error::Kind::Cancelled, "stopped before there were enough rounds for an interval");
  for (std::size_t i = 0; i < seconds.size(); ++i) probe.widths[i].seconds = std::move(seconds[i]);
  probe.stairs = staircase(probe.widths, probe.rule);
  return probe;
}

}  // namespace trainyard
