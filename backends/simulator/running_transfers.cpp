#include "backends/simulator/running_transfers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

constexpr std::uint32_t kOthers = UINT32_MAX;  // the instruction, and the name, of other jobs
constexpr std::uint32_t kWait = UINT32_MAX;    // the class of what is no flow

double exact(Instant at) { return static_cast<double>(at.count()); }

// A time that is whole but for the rounding of sums stays so.
Instant rounded_up(double at) { return Instant{std::llround(std::ceil(at - 1e-3))}; }

}  // namespace

RunningTransfers::RunningTransfers(const Program& program, const NetworkTraffic& traffic)
    : program_(program),
      traffic_(traffic),
      engine_(traffic.capacities()),
      bins_(traffic.classes().links.size(), traffic.bins()),
      of_others_(traffic.classes().links.size(), 0.0),
      by_rank_(static_cast<std::size_t>(program.devices)) {
  engine_.watch([this](FlowEngine::Id id, double since, double until, double moved) {
    note(id, since, until, moved);
  });
  const FlowClasses& classes = traffic.classes();
  if (traffic.tenants() == UINT32_MAX) return;
  for (std::uint32_t f = classes.first_of[traffic.tenants()];
       f < classes.first_of[traffic.tenants() + 1]; ++f)
    moving(engine_.start(
        {classes.flows[f].path, std::numeric_limits<double>::infinity(), 1, classes.flows[f].bytes},
        0)) = {kOthers, 0, f, 0};
}

RunningTransfers::Moving& RunningTransfers::moving(FlowEngine::Id id) {
  if (moving_.size() <= id) moving_.resize(std::size_t{id} + 1);
  return moving_[id];
}

void RunningTransfers::own(FlowEngine::Id id, const Transfer& transfer, std::uint32_t flow_class) {
  const auto slot = static_cast<std::uint32_t>(&transfer - transfers_.data());
  moving(id) = {transfer.instruction, slot, flow_class, 0};
}

std::uint32_t RunningTransfers::name_of(std::uint32_t instruction) const {
  return instruction == kOthers ? kOthers
                                : program_.task(program_.instructions[instruction]).name.value;
}

void RunningTransfers::start(std::uint32_t instruction, double pace, Instant now) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t t = free_.back();
  free_.pop_back();
  Transfer& transfer = transfers_[t];
  transfer = {};
  transfer.instruction = instruction, transfer.pace = pace;
  const auto stream =
      std::upper_bound(program_.streams.begin(), program_.streams.end(), instruction,
                       [](std::uint32_t i, const Stream& s) { return i < s.first + s.count; });
  transfer.rank = static_cast<std::uint32_t>(stream->device.value);
  by_rank_[transfer.rank].push_back(t);
  now_ = std::max(now_, exact(now));
  begin_phase(transfer, now_);
}

void RunningTransfers::begin_phase(Transfer& transfer, double now) {
  const TransferPhase& phase = (*traffic_.phases(transfer.instruction))[transfer.phase];
  if (phase.wait <= 0 && phase.scale > 0) return begin_flows(transfer, now);
  if (phase.burst != kWait)
    delays_[{name_of(transfer.instruction), phase.burst}] += traffic_.bursts()[phase.burst].delay;
  transfer.waiting = true;
  transfer.left = 1;
  const FlowEngine::Id id = engine_.start({{}, phase.wait, 1, 1}, now);
  own(id, transfer, kWait);
  transfer.flows.assign(1, id);
  if (transfer.pace != 1) engine_.pace(id, transfer.pace, now);
}

void RunningTransfers::begin_flows(Transfer& transfer, double now) {
  const TransferPhase& phase = (*traffic_.phases(transfer.instruction))[transfer.phase];
  const FlowClasses& classes = traffic_.classes();
  transfer.waiting = false;
  transfer.flows.clear();
  transfer.lost = 0, transfer.since = now;
  transfer.held.clear();
  for (std::uint32_t f = classes.first_of[phase.pattern]; f < classes.first_of[phase.pattern + 1];
       ++f) {
    const FlowClass& flow = classes.flows[f];
    const FlowEngine::Id id = engine_.start({flow.path, flow.bytes * phase.scale}, now);
    own(id, transfer, f);
    transfer.flows.push_back(id);
    if (transfer.pace != 1) engine_.pace(id, transfer.pace, now);
  }
  transfer.left = static_cast<std::uint32_t>(transfer.flows.size());
}

// Returns whether there was anything left to do.
bool RunningTransfers::go_on(Transfer& transfer, double now) {
  const std::vector<TransferPhase>& phases = *traffic_.phases(transfer.instruction);
  if (transfer.waiting && phases[transfer.phase].scale > 0) {
    begin_flows(transfer, now);
    return true;
  }
  if (!transfer.waiting) blame(transfer, now - transfer.since);
  if (++transfer.phase == phases.size()) return false;
  begin_phase(transfer, now);
  return true;
}

void RunningTransfers::pace(std::uint32_t rank, double share, Instant now) {
  now_ = std::max(now_, exact(now));
  for (const std::uint32_t t : by_rank_[rank]) {
    Transfer& transfer = transfers_[t];
    if (transfer.pace == share) continue;
    transfer.pace = share;
    for (const FlowEngine::Id id : transfer.flows) engine_.pace(id, share, now_);
  }
}

std::optional<Instant> RunningTransfers::next() {
  const std::optional<double> at = engine_.next();
  return at ? std::optional(rounded_up(*at)) : std::nullopt;
}

std::vector<std::uint32_t> RunningTransfers::arrive(Instant now) {
  std::vector<std::uint32_t> arrived;
  while (const std::optional<double> at = engine_.next()) {
    if (rounded_up(*at) > now) break;
    now_ = *at;
    for (const FlowEngine::Id id : engine_.finish(*at)) {
      const std::uint32_t t = moving_[id].slot;
      Transfer& transfer = transfers_[t];
      transfer.lost = std::max(transfer.lost, moving_[id].lost);
      transfer.flows.erase(std::find(transfer.flows.begin(), transfer.flows.end(), id));
      if (--transfer.left > 0 || go_on(transfer, *at)) continue;
      arrived.push_back(transfer.instruction);
      std::vector<std::uint32_t>& under_way = by_rank_[transfer.rank];
      under_way.erase(std::find(under_way.begin(), under_way.end(), t));
      free_.push_back(t);
    }
  }
  now_ = std::max(now_, exact(now));
  std::sort(arrived.begin(), arrived.end());
  return arrived;
}

void RunningTransfers::keep(std::uint32_t flow_class, bool others, double since, double until,
                            double moved) {
  if (!others && traffic_.bins() == 0) return;
  for (const FlowLink& over : traffic_.classes().flows[flow_class].path) {
    const double bytes = over.flows * moved;
    bins_.add(over.link, since, until, bytes);
    if (others) of_others_[over.link] += bytes;
  }
}

// A flow that has less of its link than when its transfer is alone loses that part of the time to
// the others on the link, each by what it takes.
void RunningTransfers::note(FlowEngine::Id id, double since, double until, double moved) {
  Moving& own = moving_[id];
  if (own.flow_class == kWait) return;
  keep(own.flow_class, own.instruction == kOthers, since, until, moved);
  if (own.instruction == kOthers) return;
  const std::uint32_t link = engine_.waits_for(id);
  const double alone = traffic_.rate_alone(own.flow_class), rate = engine_.rate(id);
  if (link == FlowEngine::kNone || rate >= alone * (1 - 1e-9)) return;
  double others = 0;
  engine_.each_on(link, [&](FlowEngine::Id other, double load) {
    if (moving_[other].instruction != own.instruction) others += load;
  });
  if (others <= 0) return;
  const double lost = (until - since) * (1 - rate / alone);
  own.lost += lost;
  Transfer& transfer = transfers_[own.slot];
  engine_.each_on(link, [&](FlowEngine::Id other, double load) {
    const std::uint32_t instruction = moving_[other].instruction;
    if (instruction != own.instruction)
      transfer.held[{name_of(instruction), link}] += lost * load / others;
  });
}

void RunningTransfers::blame(const Transfer& transfer, double lasted) {
  const double alone = (*traffic_.phases(transfer.instruction))[transfer.phase].alone;
  const double lost = std::min(lasted - alone, transfer.lost);
  double all = 0;
  for (const auto& [held, time] : transfer.held) all += time;
  if (lost <= 0 || all <= 0) return;
  const std::uint32_t name = name_of(transfer.instruction);
  for (const auto& [held, time] : transfer.held)
    waits_[{name, held.first, held.second}] += lost * time / all;
}

std::vector<double> RunningTransfers::loads_of(std::uint32_t link, Duration step) const {
  std::vector<double> loads = bins_.bytes(link, step);
  const double capacity = traffic_.classes().links[link].capacity;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const Duration begins = bins_.width() * static_cast<std::int64_t>(i);
    loads[i] /= capacity * exact(std::min(bins_.width(), step - begins));
    loads[i] = std::min(1.0, loads[i]);
  }
  return loads;
}

// The bursts of one task at ports of one number of senders are one row.
std::vector<LinkIncast> RunningTransfers::incasts() const {
  const double ranks =
      std::max(1.0, static_cast<double>(program_.devices) * static_cast<double>(program_.steps));
  std::map<std::pair<std::uint32_t, std::int64_t>, LinkIncast> rows;
  for (const auto& [who, delay] : delays_) {
    const TransferBurst& burst = traffic_.bursts()[who.second];
    const auto [at, is_new] = rows.try_emplace({who.first, burst.senders});
    LinkIncast& row = at->second;
    if (is_new)
      row = {std::string(program_.name(NameId{who.first})),
             traffic_.network().name(burst.link),
             burst.links,
             burst.senders,
             burst.block,
             burst.timeouts,
             {}};
    row.time += Duration{std::llround(delay / ranks)};
  }
  std::vector<LinkIncast> made;
  for (auto& [who, row] : rows) made.push_back(std::move(row));
  std::stable_sort(made.begin(), made.end(),
                   [](const LinkIncast& a, const LinkIncast& b) { return a.time > b.time; });
  return made;
}

NetworkUse RunningTransfers::use(Duration step) {
  engine_.settle_all(std::max(now_, exact(step)));
  const FlowClasses& classes = traffic_.classes();
  NetworkUse made;
  made.step = step;
  made.kinds = static_cast<std::int64_t>(classes.flows.size());
  for (const FlowClass& flow : classes.flows) made.flows += flow.flows;
  std::vector<std::uint32_t> by_load;
  for (std::uint32_t l = 0; l < classes.links.size(); ++l) {
    const LinkClass& link = classes.links[l];
    made.links += link.links;
    const double most = link.capacity * std::max(1.0, exact(step));
    const double load = std::min(1.0, engine_.carried(l) / most);
    made.busiest.push_back({traffic_.network().name(link.example),
                            link.links,
                            traffic_.network().level(link.example),
                            {link.capacity * 1e9},
                            load,
                            std::min(load, of_others_[l] / most)});
    by_load.push_back(l);
  }
  std::stable_sort(by_load.begin(), by_load.end(), [&](std::uint32_t a, std::uint32_t b) {
    return made.busiest[a].load > made.busiest[b].load;
  });
  if (traffic_.bins() > 0) made.bin = bins_.width();
  for (std::size_t i = 0; made.bin.count() > 0 && i < std::min(kTimedLinks, by_load.size()); ++i)
    made.busiest[by_load[i]].over_time = loads_of(by_load[i], step);
  std::stable_sort(made.busiest.begin(), made.busiest.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.load > b.load; });
  const double ranks =
      std::max(1.0, static_cast<double>(program_.devices) * static_cast<double>(program_.steps));
  // All stages wait much alike, each on links of its own: one row, with the link of the longest.
  std::map<Held, std::pair<double, std::pair<double, std::uint32_t>>> by_name;
  for (const auto& [who, time] : waits_) {
    const auto& [waiting, holding, link] = who;
    auto& [all, longest] = by_name[{waiting, holding}];
    all += time;
    if (time > longest.first) longest = {time, link};
  }
  for (const auto& [names, waited] : by_name)
    made.waits.push_back(
        {std::string(program_.name(NameId{names.first})),
         names.second == kOthers ? "other jobs" : std::string(program_.name(NameId{names.second})),
         traffic_.network().name(classes.links[waited.second.second].example),
         Duration{std::llround(waited.first / ranks)}});
  std::stable_sort(made.waits.begin(), made.waits.end(),
                   [](const TransferWait& a, const TransferWait& b) { return a.time > b.time; });
  made.incasts = incasts();
  return made;
}

}  // namespace trainyard
