#include "app/cli/text/runs/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/workspace/runs/run_document.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::size_t kNumberColumns = 64;

void write_windows(Out& out, const NumberRecord& record, const NumberLook& look) {
  line(out, "\nnumbers of step {}: shares in the window of the format", look.step);
  line(out, "  {:<12} {:>8} {:>18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11}", "", "format", "exponents",
       "zero", "under", "subnormal", "normal", "over", "not finite");
  bool scaled = false;
  for (std::size_t c = 0; c < kNumberClasses; ++c) {
    const WindowCounts& n = look.counts[c];
    if (n.elements() == 0) continue;
    const NumberWindow& w = look.windows[c];
    const auto share = [&](std::int64_t count) { return readable_share(n.share(count)); };
    scaled |= w.scaled;
    line(out, "  {:<12} {:>8} {:>18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11}",
         to_string(static_cast<NumberClass>(c)), w.format,
         fmt::format("{}, {} to {}", w.least, w.least_normal, w.most), share(n.zeros),
         share(n.under), share(n.subnormal), share(n.normal), share(n.over), share(n.not_finite));
    const ExponentHistogram& h = record.histograms()[c];
    if (!h.least()) continue;
    std::vector<double> counts;
    for (int e = *h.least(); e <= *h.most(); ++e) counts.push_back(static_cast<double>(h.count(e)));
    line(out, "  {:>12} {} {}", fmt::format("2^{}", *h.least()), sparkline(counts, kNumberColumns),
         fmt::format("2^{}", *h.most()));
  }
  line(out, "  exponents: of the least number, of the least normal one, and the largest");
  if (look.loss_scale > 0)
    line(out, "  gradients are those without the loss scale of {}, which moves their window down",
         look.loss_scale);
  if (scaled)
    line(out,
         "  elements of these formats share a scale, so that their window lies under the "
         "largest number");
}

void write_cancelled(Out& out, const NumberRecord& record) {
  std::vector<double> shares;
  std::int64_t last = 0;
  for (const NumberLook& look : record.looks())
    if (look.updates.asked > 0) shares.push_back(look.updates.share()), last = look.step;
  if (shares.empty()) return;
  line(out, "cancelled     {} of the updates of step {} left their weight as it was, at most {}",
       readable_share(shares.back()), last,
       readable_share(*std::max_element(shares.begin(), shares.end())));
  if (shares.size() > 1) line(out, "              {}", sparkline(shares, kNumberColumns, 0, 1));
}

void write_loss_scales(Out& out, const NumberRecord& record) {
  const std::vector<LossScaleChange>& scales = record.loss_scales();
  if (scales.empty()) return;
  line(out, "loss scale    {} at step {}, {} at step {}; it changed {}", scales.front().scale,
       scales.front().step, scales.back().scale, record.last_step(),
       counted(static_cast<std::int64_t>(scales.size()) - 1, "time"));
}

}  // namespace

void write_numbers(Out& out, const NumberRecord& record) {
  write_cancelled(out, record);
  write_loss_scales(out, record);
  if (const NumberLook* const look = record.shown())
    write_windows(out, record, *look);
  else
    line(out, "numbers       none: gradients had overflowed in every step that was looked at");
}

}  // namespace trainyard
