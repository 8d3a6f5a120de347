// Energy and money: what the devices of each pipeline rank draw in a step, by what they do, and
// what a step and a whole training cost, with their ranges and where the figures are from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/banded.h"
#include "core/cost/engine_efficiency.h"
#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// What a person says beyond the experiment.
struct EnergyState {
  double budget = 1e12;            // tokens of the training, or samples where the model has none
  std::optional<double> overhead;  // power usage effectiveness (PUE); nothing: the cluster's
  std::optional<double> price;     // US dollars of a device hour; nothing: the catalogue's range
  std::string region;              // whose electricity it takes; empty: the cluster's
  Item selected;
};

struct EnergyModel {
  std::int64_t devices = 1, replicas = 1;  // replicas: devices behind each pipeline rank
  std::string device, rank_word;           // "H100 SXM5"; "Stage"
  Sourced<Watts> power;                    // board limit of one device; 0 = not stated
  std::optional<PowerDraw> draw;           // of one device, by what it does
  std::optional<Banded<Joules>> energy;    // of a step
  std::optional<Sourced<double>> price_low, price_high;
  Banded<Duration> step;
  double units = 0;               // tokens, or samples, of a step
  std::vector<PricedPhase> ramp;  // phases of a batch ramp; empty where every step is the same
  bool counts_tokens = true;      // else samples
  std::vector<Breakdown> ranks;   // of the step, one a pipeline rank
  double busy = 0;                // share of all device time that is computation
  double evaluation = 0;          // PricedPhase::evaluation
  Site site;                      // of the cluster
  Joules at_board{};              // of a step at board power throughout; 0 = not known
  Joules waiting{};               // of a step's energy, what devices draw while they wait
  std::optional<DeviceEfficiency> efficiency;  // products for each watt; empty without a power
  std::vector<OperationEnergy> operations;     // of a step, of gates and wires, most energy first
  std::vector<PowerDraw> draws;         // by rank, of a mixed cluster; empty: `draw` is of all
  std::vector<std::string> more_power;  // sentences on the power of its other kinds
};
EnergyModel energy_model(const Experiment&);

/// "15 T", "300B", "1.5e12": a count as people write it, within [low, high]; nothing where it is
/// none.
std::optional<double> parse_budget(std::string_view, double low, double high);

/// The cluster's site with what the state says instead.
Site site_of(const EnergyModel&, const EnergyState&);

/// What so many steps cost: the energy and the money of one, so many times.
struct EnergyCost {
  std::string name;  // "one step", "1.00 T tokens"
  double steps = 1;
  Banded<double> days;
  std::optional<Banded<Joules>> energy;  // of the whole centre
  std::optional<Banded<double>> money;
  std::optional<Banded<double>> carbon = {};  // kilograms of CO2 equivalents; empty without a
                                              // region
};
/// A step, a million tokens, both in full batches, and the budget, which begins with a batch ramp
/// where there is one.
std::vector<EnergyCost> energy_costs(const EnergyModel&, const EnergyState&);
/// Where the figures are from, what is assumed, and which are missing.
std::vector<std::string> energy_sources(const EnergyModel&, const EnergyState&);

/// Joules of a rank's devices in a step, by state; 0 where the power is not known.
struct EnergyPart {
  std::string name;  // "forward", "bubble"
  Ink ink = Ink::Forward;
  bool idle = false;  // drawn as hatch
  Duration time{};    // of one device
  Joules energy{};    // of all the rank's devices
};
std::vector<EnergyPart> energy_parts(const EnergyModel&, std::size_t rank);

/// Items: Lane, tag the rank; Legend, tag the index of a cost; Cell, tag the index of an operation.
void draw_energy(Drawing&, const Rect& area, const EnergyModel&, const EnergyState&);
Hover describe_energy(const EnergyModel&, const EnergyState&, Item);
/// Parts by rank, then the costs, then operations by memory level.
DataTable energy_table(const EnergyModel&, const EnergyState&);

template <>
EnergyModel make_model(const ViewData&);

extern const View kEnergyView;

}  // namespace trainyard
