#include "app/cli/text/waves_text.h"

#include <algorithm>
#include <optional>

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "core/result/figures.h"
#include "core/result/stable_rate.h"

namespace trainyard {
namespace {

double updates_old(const WavesAnswer& a) {
  return a.result().asynchrony ? a.result().asynchrony->mean_delay : 0;
}

/// One offset of the curve.
struct OffsetEntry {
  double share = 0;
  std::int64_t bytes = 0;
};

std::vector<OffsetEntry> curve(const WavesAnswer& a) {
  std::vector<OffsetEntry> all;
  for (std::size_t i = 0; i < a.model.scan.share.size(); ++i)
    all.push_back({a.model.scan.share[i], a.model.scan.bytes[i]});
  return all;
}

void write_offsets(Out& out, const WavesAnswer& a) {
  const OffsetScan& scan = a.model.scan;
  const auto [low, high] = std::minmax_element(scan.bytes.begin(), scan.bytes.end());
  std::string bars;
  for (const std::int64_t bytes : scan.bytes) {
    const double part =
        *high > *low ? static_cast<double>(bytes - *low) / static_cast<double>(*high - *low) : 0;
    constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    bars += kBars[std::clamp(static_cast<int>(part * 8), 0, 7)];
  }
  line(out, "peak by offset of each wave after the one before, from 0 to a whole cycle");
  line(out, "  {}  {} to {}", bars, readable(Bytes{*low}), readable(Bytes{*high}));
  line(out, "  lowest {} at {:.2f} of a cycle; aligned {}", readable(Bytes{scan.bytes[scan.best]}),
       scan.share[scan.best], readable(Bytes{scan.bytes.front()}));
}

void write_worth(Out& out, const WavesAnswer& a) {
  constexpr const char* kRow = "  {:<24} {:>10} {:>10} {:>7} {:>10} {:>8}  {}";
  const Result& own = a.result();
  const double base = a.model.alternatives.front().rate;
  line(out, "is it worth it?");
  line(out, kRow, "", own.counts_tokens ? "tokens/s" : "samples/s", "throughput", "MFU", "peak",
       "fits", "against the plan");
  const auto row = [&](const std::string& name, double per_second, double mfu, Bytes peak,
                       bool fits, const std::string& changes) {
    line(out, kRow, name, readable_rate(per_second),
         base > 0 ? fmt::format("{:.2f} x", per_second / base) : "-", readable_share(mfu),
         readable(peak), fits ? "yes" : "no", changes);
  };
  row(fmt::format("{} waves", a.model.waves), rate(own).value, own.mfu, worst_peak(own),
      own.verdict.fits, "");
  for (const WaveAlternative& other : a.model.alternatives)
    if (other.refused.empty())
      row(other.name, other.rate, other.mfu, other.peak, other.fits, other.changes);
    else
      line(out, "  {:<24} no such plan: {}", other.name, other.refused);
  line(out, "  {} {}", a.worth.verdict, a.worth.limit);
}

void write_period(Out& out, const WavesAnswer& a) {
  constexpr const char* kRow = "  {:<24} {:>10} {:>10} {:>10} {:>10}";
  line(out, "memory over one period of {}", readable(a.waves.cycle.period));
  line(out, kRow, "", "least", "mean", "peak", "mean/peak");
  for (const PeriodFigures& each : a.waves.period)
    line(out, kRow, each.name, readable(Bytes{each.low}),
         readable(Bytes{static_cast<std::int64_t>(each.mean)}), readable(Bytes{each.peak}),
         readable_share(each.mean_share()));
}

}  // namespace

std::string waves_text(const WavesAnswer& a) {
  Out out;
  const Result& result = a.result();
  const std::optional<double> own = own_offset(a.model, a.waves);
  line(out, "{} waves of {} on each of {}, {}", a.model.waves, result.model_name,
       result.cluster_name,
       own ? fmt::format("{:.2f} of a cycle ({}) behind each other", *own,
                         readable(Duration{static_cast<std::int64_t>(
                             *own * static_cast<double>(a.model.cycle.count()))}))
           : "whose like phases exclude each other");
  line(out, "{}", result.verdict.sentence);
  const double old = updates_old(a);
  line(out,
       "gradients {:.3g} update{} old: the largest stable rate is {:.2f} of a synchronous one\n",
       old, old == 1 ? "" : "s", stable_rate_share(old));
  write_offsets(out, a);
  out += '\n';
  write_worth(out, a);
  out += '\n';
  write_period(out, a);
  return out;
}

const Fields<WavesAnswer>& waves_fields() {
  static const Fields<OffsetEntry> kOffset = {{"offset", &OffsetEntry::share, number(kShare)},
                                              {"peak_bytes", &OffsetEntry::bytes}};
  static const Fields<WaveAlternative> kAlternative = {
      {"name", &WaveAlternative::name},
      {"changes", &WaveAlternative::changes, "against the plan, as --set takes them"},
      {"refused", &WaveAlternative::refused, kWhereSet, "why there is no such plan"},
      {"per_second", &WaveAlternative::rate, "tokens or samples, as the model counts"},
      {"mfu", &WaveAlternative::mfu, number(kShare)},
      {"peak_bytes", &WaveAlternative::peak},
      {"fits", &WaveAlternative::fits}};
  static const Fields<PeriodFigures> kPeriod = {{"name", &PeriodFigures::name},
                                                {"least_bytes", &PeriodFigures::low},
                                                {"mean_bytes", &PeriodFigures::mean},
                                                {"peak_bytes", &PeriodFigures::peak}};
  static const Fields<WavesAnswer> kFields = document_fields(
      "trainyard/waves",
      Fields<WavesAnswer>{
          {"waves", [](const WavesAnswer& a) { return a.model.waves; }},
          {"offset", [](const WavesAnswer& a) { return own_offset(a.model, a.waves); },
           number(kShare), kWhereSet, "of a cycle, behind the wave before"},
          {"cycle_seconds", [](const WavesAnswer& a) { return a.model.cycle; }},
          {"peak_bytes", [](const WavesAnswer& a) { return run_peak(a.waves); }},
          {"per_second", [](const WavesAnswer& a) { return rate(a.result()).value; },
           "tokens or samples, as the model counts"},
          {"mfu", [](const WavesAnswer& a) { return a.result().mfu; }, number(kShare)},
          {"fits", [](const WavesAnswer& a) { return a.result().verdict.fits; }},
          {"updates_old", [](const WavesAnswer& a) { return updates_old(a); }},
          {"stable_rate_share",
           [](const WavesAnswer& a) { return stable_rate_share(updates_old(a)); }, number(kShare),
           "the largest stable rate, of a synchronous one"},
          {"offsets", [](const WavesAnswer& a) { return curve(a); }, list_of(object(kOffset))},
          {"alternatives", [](const WavesAnswer& a) { return a.model.alternatives; },
           list_of(object(kAlternative))},
          {"gain", [](const WavesAnswer& a) { return a.worth.gain; },
           "throughput over the fastest alternative that fits; 0 where none does"},
          {"busy_share_of_one_wave", [](const WavesAnswer& a) { return a.worth.busy; },
           number(kShare)},
          {"period", [](const WavesAnswer& a) { return a.waves.period; },
           list_of(object(kPeriod))}});
  return kFields;
}

std::string waves_document(const WavesAnswer& a) { return write_json(waves_fields().write(a)); }

}  // namespace trainyard
