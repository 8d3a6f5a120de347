#include "core/network/flow_engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainyard {
namespace {

// Two forecasts so near to each other are one instant: they differ by rounding alone.
double together(double at) { return at + at * 1e-13 + 1e-9; }

// The level, rate by weight, at which a link is full or a source has no more.
struct FillLevel {
  double at;
  std::uint32_t id;
  bool source;
  friend bool operator>(const FillLevel& a, const FillLevel& b) {
    if (a.at != b.at) return a.at > b.at;
    return a.source != b.source ? a.source > b.source : a.id > b.id;
  }
};

}  // namespace

FlowEngine::FlowEngine(std::vector<double> capacities) : links_(capacities.size()) {
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    assert(capacities[l] > 0);
    links_[l].capacity = capacities[l];
  }
}

// Everything that changes at one instant is resolved at once, when somebody asks what comes next.
// Whatever happens at a later instant finds the rates of the earlier one in force.
FlowEngine::Id FlowEngine::start(const LinkFlow& flow, double now) {
  if (now > now_) resolve();
  now_ = std::max(now_, now);
  if (free_.empty()) {
    free_.push_back(static_cast<Id>(flows_.size()));
    flows_.emplace_back();
  }
  const Id id = free_.back();
  free_.pop_back();
  Moving& m = flows_[id];
  const std::uint32_t version = m.version;
  std::vector<std::uint32_t> at = std::move(m.at);
  at.clear();
  m = {};
  m.version = version;
  m.path = flow.path, m.left = flow.bytes, m.weight = flow.weight, m.most = flow.most;
  m.since = now_;
  m.active = true;
  assert(!m.path.empty() || std::isfinite(m.most));
  for (std::uint32_t p = 0; p < m.path.size(); ++p) {
    Link& link = links_[m.path[p].link];
    at.push_back(static_cast<std::uint32_t>(link.passing.size()));
    link.passing.push_back({id, p});
  }
  m.at = std::move(at);
  change(id);
  return id;
}

void FlowEngine::pace(Id id, double share, double now) {
  if (now > now_) resolve();
  now_ = std::max(now_, now);
  settle(id, now_);
  flows_[id].pace = share;
  forecast(id);
}

std::optional<double> FlowEngine::next() {
  resolve();
  while (!forecasts_.empty() && flows_[forecasts_.top().flow].version != forecasts_.top().version)
    forecasts_.pop();
  if (forecasts_.empty()) return std::nullopt;
  return std::max(now_, forecasts_.top().at);
}

std::vector<FlowEngine::Id> FlowEngine::finish(double now) {
  resolve();
  now_ = std::max(now_, now);
  std::vector<Id> done;
  while (!forecasts_.empty() && forecasts_.top().at <= together(now_)) {
    const Forecast f = forecasts_.top();
    forecasts_.pop();
    if (flows_[f.flow].version != f.version) continue;
    settle(f.flow, now_);
    ++flows_[f.flow].version;
    flows_[f.flow].ended = true;
    change(f.flow);
    done.push_back(f.flow);
  }
  ended_.insert(ended_.end(), done.begin(), done.end());
  std::sort(done.begin(), done.end());
  return done;
}

void FlowEngine::settle_all(double now) {
  resolve();
  now_ = std::max(now_, now);
  for (Id id = 0; id < flows_.size(); ++id)
    if (flows_[id].active) settle(id, now_);
}

void FlowEngine::change(Id id) {
  changed_flows_.push_back(id);
  for (const FlowLink& over : flows_[id].path)
    if (!links_[over.link].changed) {
      links_[over.link].changed = true;
      changed_links_.push_back(over.link);
    }
}

void FlowEngine::settle(Id id, double now) {
  Moving& m = flows_[id];
  if (now <= m.since) return;
  const double moved = std::min(m.left, m.rate * m.pace * (now - m.since));
  if (watcher_) watcher_(id, m.since, now, moved);
  if (std::isfinite(m.left)) m.left -= moved;
  for (const FlowLink& over : m.path) links_[over.link].carried += over.flows * moved;
  m.since = now;
}

void FlowEngine::remove(Id id) {
  Moving& m = flows_[id];
  for (std::size_t p = 0; p < m.path.size(); ++p) {
    std::vector<Passing>& passing = links_[m.path[p].link].passing;
    const Passing last = passing.back();
    passing[m.at[p]] = last;
    flows_[last.flow].at[last.place] = m.at[p];
    passing.pop_back();
  }
  m.active = false;
  ++m.version;
  free_.push_back(id);
}

// The flows that share links with what has changed, directly or through others.
void FlowEngine::collect() {
  ++round_;
  component_.clear();
  component_links_.clear();
  const auto take = [&](Id id) {
    if (flows_[id].seen == round_) return;
    flows_[id].seen = round_;
    component_.push_back(id);
  };
  const auto take_link = [&](std::uint32_t l) {
    if (links_[l].seen == round_) return;
    links_[l].seen = round_;
    component_links_.push_back(l);
    for (const Passing& p : links_[l].passing) take(p.flow);
  };
  for (const Id id : changed_flows_)
    if (flows_[id].active) take(id);
  for (const std::uint32_t l : changed_links_) take_link(l);
  for (std::size_t i = 0; i < component_.size(); ++i)
    for (const FlowLink& over : flows_[component_[i]].path) take_link(over.link);
}

void FlowEngine::resolve() {
  if (changed_flows_.empty()) return;
  collect();
  for (const Id id : component_) settle(id, now_);
  for (const Id id : ended_) remove(id);
  component_.erase(std::remove_if(component_.begin(), component_.end(),
                                  [&](Id id) { return !flows_[id].active; }),
                   component_.end());
  fill();
  for (const std::uint32_t l : changed_links_) links_[l].changed = false;
  changed_links_.clear();
  changed_flows_.clear();
  ended_.clear();
}

// All rates rise together, each by its weight, until a link is full or a source has no more; what
// waits for that is settled, and the rest rises on.
void FlowEngine::fill() {
  std::priority_queue<FillLevel, std::vector<FillLevel>, std::greater<>> levels;
  const auto level_of_link = [&](const Link& link) {
    return std::max(0.0, link.left) / std::max(link.weight, 1e-300);
  };
  for (const std::uint32_t l : component_links_) {
    Link& link = links_[l];
    link.left = link.capacity, link.weight = 0;
    link.open = static_cast<std::uint32_t>(link.passing.size());
    for (const Passing& p : link.passing)
      link.weight += flows_[p.flow].path[p.place].flows * flows_[p.flow].weight;
    if (link.open > 0) levels.push({level_of_link(link), l, false});
  }
  for (const Id id : component_) {
    flows_[id].filled = false;
    if (std::isfinite(flows_[id].most))
      levels.push({flows_[id].most / flows_[id].weight, id, true});
  }
  rates_found_ += component_.size();
  const auto settle_rate = [&](Id id, double level, std::uint32_t bottleneck) {
    Moving& m = flows_[id];
    m.filled = true;
    const double rate = bottleneck == kNone ? m.most : level * m.weight;
    m.bottleneck = bottleneck;
    for (const FlowLink& over : m.path) {
      Link& link = links_[over.link];
      link.left -= over.flows * rate, link.weight -= over.flows * m.weight;
      --link.open;
    }
    if (rate == m.rate) return;  // its forecast still holds
    m.rate = rate;
    forecast(id);
  };
  while (!levels.empty()) {
    const FillLevel level = levels.top();
    levels.pop();
    if (level.source) {
      if (!flows_[level.id].filled) settle_rate(level.id, level.at, kNone);
      continue;
    }
    Link& link = links_[level.id];
    if (link.open == 0) continue;
    // While others are settled below it a link's level only rises, so that an older one is a bound.
    if (const double now = level_of_link(link); now > level.at * (1 + 1e-12)) {
      levels.push({now, level.id, false});
      continue;
    }
    for (const Passing& p : link.passing)
      if (!flows_[p.flow].filled) settle_rate(p.flow, level.at, level.id);
  }
}

void FlowEngine::forecast(Id id) {
  Moving& m = flows_[id];
  ++m.version;
  if (!std::isfinite(m.left)) return;
  const double speed = m.rate * m.pace;
  if (m.left <= 0)
    forecasts_.push({m.since, id, m.version});
  else if (speed > 0)
    forecasts_.push({m.since + m.left / speed, id, m.version});
}

}  // namespace trainyard
