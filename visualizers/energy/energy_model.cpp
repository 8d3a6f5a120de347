#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "core/cluster/mixed.h"
#include "core/plan/stage_kinds.h"
#include "core/result/carbon.h"
#include "core/result/figures.h"
#include "core/result/operation_energy.h"
#include "core/result/training_cost.h"
#include "core/result/verdict.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr double kDay = 86400, kHour = 3600, kMillion = 1e6;

struct State {
  const char* name;
  Duration Breakdown::* time;
  Ink ink;
};
// All exposed communication is one part, which stands before the idle parts.
constexpr State kComputing[] = {
    {"forward", &Breakdown::forward, Ink::Forward},
    {"backward", &Breakdown::backward, Ink::Backward},
    {"recompute", &Breakdown::recompute, Ink::Recompute},
    {"optimizer", &Breakdown::optimizer, Ink::Optimizer},
};
constexpr State kWaiting[] = {
    {"host", &Breakdown::host, Ink::Swap},     {"allocator", &Breakdown::allocator, Ink::Swap},
    {"input", &Breakdown::input, Ink::Swap},   {"slower devices", &Breakdown::slower, Ink::Idle},
    {"bubble", &Breakdown::bubble, Ink::Idle},
};

EnergyCost shown_cost(const EnergyModel& model, const EnergyState& state, std::string name,
                      const TrainingCost& training) {
  const Banded<double>& time = training.seconds;
  EnergyCost cost{std::move(name),
                  training.steps,
                  {time.value / kDay, time.low / kDay, time.high / kDay, time.basis},
                  {},
                  {}};
  if (training.energy) {
    const Site site = site_of(model, state);
    cost.energy = site_energy(*training.energy, site);
    cost.carbon = carbon_of(*training.energy, site);
  }
  const double hours = static_cast<double>(model.devices) / kHour;
  if (state.price) {
    cost.money = Banded<double>{hours * time.value * *state.price, hours * time.low * *state.price,
                                hours * time.high * *state.price,
                                "the step's range at the price that was given"};
  } else if (model.price_low && model.price_high) {
    const double low = model.price_low->value, high = model.price_high->value;
    cost.money = Banded<double>{hours * time.value * (low + high) / 2, hours * time.low * low,
                                hours * time.high * high,
                                "between the low and the high price of an hour of this device"};
  }
  return cost;
}

std::string energy_words(Joules energy) {
  return band_text(Banded<Joules>{energy, energy, energy, {}}).value;
}

std::string decimal(double value) { return band_number({value, value, value, {}}, "").value; }

std::string power_sentence(const std::string& devices, const Sourced<Watts>& power) {
  return "TDP: " + decimal(power.value.value) + " W per " + devices + " (" + power.source + ")";
}

// Ranks lie on one kind of devices each, and prices are means over all.
void state_kinds(const Experiment& e, EnergyModel& model) {
  const Scenario& scenario = e.workload.scenario;
  const Cluster& cluster = scenario.cluster;
  const auto mean = [&](std::optional<Sourced<double>>& price,
                        std::optional<Sourced<double>> Device::* of) {
    const std::optional<double> over_all = mean_price(cluster, of);
    if (price && over_all)
      price->value = *over_all;
    else
      price.reset();
  };
  mean(model.price_low, &Device::price_low), mean(model.price_high, &Device::price_high);
  for (std::size_t kind = 1; kind < kinds(cluster); ++kind) {
    const Device& device = device_of_kind(cluster, kind);
    model.device += " and " + device.name;
    model.more_power.push_back(power_sentence(device.name, device.power));
  }
  const std::optional<std::vector<PowerDraw>> draws =
      power_of_kinds(cluster, device_uses(e.workload, e.program, e.prices, model.ranks),
                     e.workload.layout.precision.math);
  for (std::uint32_t rank = 0; draws && rank < model.ranks.size(); ++rank)
    model.draws.push_back((*draws)[kind_of_rank(cluster, scenario.plan.mesh, DeviceId{rank})]);
}

}  // namespace

EnergyModel energy_model(const Experiment& e) {
  EnergyModel model;
  const Result& result = e.result;
  const Device& device = e.workload.scenario.cluster.device;
  model.devices = e.workload.scenario.cluster.count;
  model.replicas = std::max<std::int64_t>(1, model.devices / std::max(1, e.program.devices));
  model.device = device.name;
  model.rank_word = e.program.stages > e.program.devices ? "Rank" : "Stage";
  model.power = device.power;
  model.draw = result.power;
  model.energy = result.energy;
  model.price_low = device.price_low;
  model.price_high = device.price_high;
  model.step = result.step;
  model.counts_tokens = result.counts_tokens;
  model.units = result.counts_tokens ? result.tokens_per_step : result.samples_per_step;
  model.ramp = result.ramp;
  model.site = result.site;
  if (const std::optional<EnergyParts> parts = energy_parts(result))
    model.at_board = parts->at_board, model.waiting = parts->idle.value;
  if (device.power.value.value > 0) model.efficiency = device_efficiency(device);
  model.operations = operation_energies(e.workload);
  if (result.evaluation) model.evaluation = result.evaluation->of_step(result.step.value);
  model.ranks = rank_breakdowns(e);
  if (is_mixed(e.workload.scenario.cluster)) state_kinds(e, model);
  if (model.step.value.count() <= 0 && !model.ranks.empty())
    model.step = {model.ranks.front().sum(), model.ranks.front().sum(), model.ranks.front().sum(),
                  ""};
  DeviceTime all;
  for (const Breakdown& rank : model.ranks) all += device_time(rank);
  model.busy = all.total() > 0 ? (all.computing + all.streaming) / all.total() : 0;
  return model;
}

Site site_of(const EnergyModel& model, const EnergyState& state) {
  return {state.region.empty() ? model.site.region : state.region,
          std::max(1.0, state.overhead.value_or(model.site.overhead))};
}

std::optional<double> parse_budget(std::string_view words, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest = words.substr(static_cast<std::size_t>(end - words.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (!rest.empty()) {
    constexpr std::string_view kLetters = "KMBT";
    const std::size_t letter = kLetters.find(rest.front());
    if (rest.size() != 1 || letter == std::string_view::npos) return std::nullopt;
    value *= std::pow(1e3, static_cast<double>(letter + 1));
  }
  return value >= low && value <= high ? std::optional(value) : std::nullopt;
}

std::vector<EnergyPart> energy_parts(const EnergyModel& model, std::size_t rank) {
  std::vector<EnergyPart> parts;
  const Breakdown& whole = model.ranks[rank];
  const PowerDraw draw =
      rank < model.draws.size() ? model.draws[rank] : model.draw.value_or(PowerDraw{});
  const auto add = [&](const State& state, Duration time) {
    if (time.count() <= 0) return;
    Breakdown alone;
    alone.*state.time = time;
    const DeviceTime devices = device_time(alone) * static_cast<double>(model.replicas);
    parts.push_back({state.name, state.ink, state.ink == Ink::Idle, time,
                     model.draw ? energy_of(draw, devices).value : Joules{}});
  };
  for (const State& state : kComputing) add(state, whole.*state.time);
  add({"exposed communication", &Breakdown::data_parallel, Ink::Communication},
      whole.exposed_communication());
  for (const State& state : kWaiting) add(state, whole.*state.time);
  return parts;
}

std::vector<EnergyCost> energy_costs(const EnergyModel& model, const EnergyState& state) {
  PricedPhase full;
  full.step = model.step, full.work = model.units, full.energy = model.energy;
  std::vector<EnergyCost> costs = {shown_cost(model, state, "One step", cost_of_steps(full, 1))};
  full.evaluation = model.evaluation;  // which is beside a step
  if (model.units <= 0) return costs;
  const std::string unit = model.counts_tokens ? " tokens" : " samples";
  const auto whole = [&](std::span<const PricedPhase> phases, double work,
                         const std::string& name) {
    costs.push_back(shown_cost(model, state, name, training_cost(phases, work)));
  };
  whole({&full, 1}, kMillion, "1 million" + unit);
  if (state.budget <= 0) return costs;
  if (model.ramp.empty())
    whole({&full, 1}, state.budget, format_large(state.budget) + unit);
  else
    whole(model.ramp, state.budget, format_large(state.budget) + unit + " with the batch ramp");
  return costs;
}

std::vector<std::string> energy_sources(const EnergyModel& model, const EnergyState& state) {
  std::vector<std::string> lines;
  const Watts power = model.power.value;
  if (power.value > 0)
    lines.push_back(power_sentence(model.more_power.empty() ? "device" : "device of the first kind",
                                   model.power));
  else
    lines.push_back("missing: the power of " + model.device +
                    "; add a power to the device file to see energy");
  lines.insert(lines.end(), model.more_power.begin(), model.more_power.end());
  if (model.draw) {
    const auto watts = [](const Banded<Watts>& draw) {
      return band_number({draw.value.value, draw.low.value, draw.high.value, {}}, "W").text();
    };
    const PowerDraw& draw = *model.draw;
    lines.push_back("idle: " + watts(draw.idle) + " (" + draw.idle.basis + ")");
    lines.push_back("exposed communication: " + watts(draw.communicating) +
                    "; memory-bound kernels: " + watts(draw.streaming) +
                    "; computing: " + watts(draw.computing) + " (" + draw.computing.basis + ")");
  }
  if (model.at_board.value > 0)
    lines.push_back("waiting draws " + energy_words(model.waiting) +
                    " of a step; at board power throughout it would draw " +
                    energy_words(model.at_board));
  if (model.efficiency && model.efficiency->half)
    lines.push_back("products: " + decimal(*model.efficiency->half) +
                    " GFLOP/s per watt in 16 bit, at the " +
                    format_percent(model.efficiency->utilisation) +
                    " of the peak that they sustain; engines at 45 nm reached " +
                    decimal(engines().front().gflops_per_watt) + " to " +
                    decimal(engines().back().gflops_per_watt));
  if (state.price)
    lines.push_back("price: $" + decimal(*state.price) + " per device hour, as given");
  else if (model.price_low && model.price_high)
    lines.push_back("price: $" + decimal(model.price_low->value) + " to $" +
                    decimal(model.price_high->value) + " per device hour (" +
                    model.price_low->source + ")");
  else
    lines.push_back("missing: a price per hour of " + model.device + "; enter one to see cost");
  const Site site = site_of(model, state);
  if (!site.region.empty()) lines.push_back("carbon: " + site_sentence(site));
  if (site.overhead > 1)
    lines.push_back("building overhead (PUE): \u00D7 " + decimal(site.overhead) + ", as given");
  else
    lines.push_back("building overhead (PUE) not counted: it depends on the site");
  lines.push_back("not included: hosts, network and storage; failures, checkpoints and restarts");
  return lines;
}

}  // namespace trainyard
