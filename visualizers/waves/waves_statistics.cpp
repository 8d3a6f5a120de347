#include "visualizers/waves/waves_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result/figures.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

PeriodFigures figures_of(std::string name, const WaveCycle& cycle, std::int64_t above) {
  const auto low = std::min_element(cycle.value.begin(), cycle.value.end());
  return {std::move(name), *low + above, peak_of(cycle) + above,
          mean_of(cycle) + static_cast<double>(above)};
}

WaveCycle part_of_cycle(const DeviceWaves& waves, std::vector<std::int64_t> held) {
  std::vector<std::int64_t> at = waves.total.at;
  return wave_cycle(step_curve(std::move(at), std::move(held)), waves.cycle_from,
                    waves.cycle.period);
}

}  // namespace

std::vector<PeriodFigures> period_figures(const WavesModel& model, const DeviceWaves& waves) {
  std::vector<PeriodFigures> all;
  for (int w = 0; w < model.waves; ++w)
    all.push_back(figures_of(model.waves == 1 ? "microbatches" : wave_name(model, w),
                             part_of_cycle(waves, waves.parts[static_cast<std::size_t>(w) + 1]),
                             0));
  all.push_back(figures_of("sum", part_of_cycle(waves, waves.total.value), 0));
  if (model.waves == 1) return all;
  all.push_back(figures_of("one wave", waves.cycle, waves.state));
  all.push_back(
      figures_of("aligned", sum_of_waves(waves.cycle, model.waves, Duration{0}), waves.state));
  return all;
}

WavesWorth waves_worth(const WavesModel& model, DeviceId device) {
  WavesWorth worth;
  const std::vector<WaveAlternative>& others = model.alternatives;
  for (std::size_t i = 0; i < others.size(); ++i)
    if (others[i].fits && (!worth.any || others[i].rate > others[worth.best].rate))
      worth.any = true, worth.best = i;
  if (worth.any) worth.gain = rate(model.experiment->result).value / others[worth.best].rate;
  constexpr double kGain = 1.005;  // what is less rounds to nothing
  const char* units = model.experiment->result.counts_tokens ? "tokens" : "samples";
  if (!worth.any)
    worth.verdict = "Nothing without waves fits.";
  else if (worth.gain > kGain)
    worth.verdict = fmt::format(
        "Worth it while the same loss takes less than {:.2f} \u00D7 the {}.", worth.gain, units);
  else
    worth.verdict =
        fmt::format("Not worth it: {} is as fast or faster, and fits.", others[worth.best].name);
  worth.busy = busy_of_one_wave(model, device, others.front().rate);
  worth.limit = fmt::format(
      "One wave keeps {} of the device busy, so that sharing it gains at most {:.2f} \u00D7.",
      format_percent(worth.busy), 1 / worth.busy);
  return worth;
}

double busy_of_one_wave(const WavesModel& model, DeviceId device, double rate) {
  const Program& program = model.experiment->program;
  const TaskPrices& prices = model.experiment->prices;
  double filled = 0;  // ns of all the device, by the first wave: the others do alike
  const auto lane =
      std::find_if(program.streams.begin(), program.streams.end(),
                   [&](const Stream& stream) { return stream.device == device && stream.compute; });
  if (lane == program.streams.end()) return 1;
  for (std::uint32_t i = lane->first; i < lane->first + lane->count; ++i) {
    const std::uint32_t task = program.instructions[i].task.value;
    filled += static_cast<double>(prices.time[task].count()) * prices.fill[task];
  }
  const Result& result = model.experiment->result;
  const double done = (result.counts_tokens ? result.tokens_per_step : result.samples_per_step) *
                      program.steps / model.waves;
  return done > 0 ? std::clamp(filled * 1e-9 * rate / done, 1e-6, 1.0) : 1;
}

void add_statistics(WavesModel& model) {
  for (DeviceWaves& waves : model.devices) waves.period = period_figures(model, waves);
  if (!model.alternatives.empty()) model.worth = waves_worth(model, model.worst);
}

}  // namespace trainyard
