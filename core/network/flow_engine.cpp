#include "core/network/flow_engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainyard {
namespace {

// Two forecasts so near to each other are one instant: they differ by rounding alone.
double together(double at) { return at + at * 1e-13 + 1e-9; }

// Levels so near to each other are one.
constexpr double kOneLevel = 1e-12;
// Levels that differ by rounding alone are nearer to each other than that.
constexpr double kAmongLevels = 1e-9;

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
  started_.push_back(id);
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

void FlowEngine::resolve() {
  if (started_.empty() && ended_.empty()) return;
  fill();
  for (const Id id : touched_) {
    const Moving& m = flows_[id];
    if (m.next_rate != m.rate || m.next_bottleneck != m.bottleneck ||
        (m.bottleneck != kNone && links_[m.bottleneck].filling == round_))
      settle(id, now_);
  }
  for (const Id id : ended_) remove(id);
  for (const Id id : touched_) {
    Moving& m = flows_[id];
    m.bottleneck = m.next_bottleneck;
    m.fresh = false;
    if (m.next_rate == m.rate) continue;  // its forecast still holds
    m.rate = m.next_rate;
    forecast(id);
  }
  started_.clear();
  ended_.clear();
}

double FlowEngine::level_of(const Link& link) const {
  return std::max(0.0, link.left) / std::max(link.weight, 1e-300);
}

FlowEngine::FillLevel FlowEngine::settled_at(Id id) const {
  const Moving& m = flows_[id];
  if (m.bottleneck == kNone) return {m.most / m.weight, true, id, id};
  return {links_[m.bottleneck].level, false, m.bottleneck, id};
}

void FlowEngine::touch(Id id) {
  Moving& m = flows_[id];
  if (m.touched == round_) return;
  m.touched = round_;
  touched_.push_back(id);
}

// From the level that is reached on, the link is filled anew. What was settled below that stays.
void FlowEngine::take_up(std::uint32_t l) {
  Link& link = links_[l];
  if (link.filling == round_) return;
  link.filling = round_;
  link.left = link.capacity, link.weight = 0, link.open = 0;
  for (const Passing& p : link.passing) {
    Moving& m = flows_[p.flow];
    if (m.ended) continue;
    const bool known = m.touched == round_;
    touch(p.flow);
    if (!known && !m.fresh) {
      const FillLevel before = settled_at(p.flow);
      if (before.before(reached_)) {
        m.next_rate = m.rate, m.next_bottleneck = m.bottleneck;
        m.filled = round_;
      } else {
        levels_.push(before);
      }
    }
    const double part = m.path[p.place].flows;
    if (m.filled == round_)
      link.left -= part * m.next_rate;
    else
      link.weight += part * m.weight, ++link.open;
  }
  if (link.open > 0) levels_.push({std::max(reached_.at, level_of(link)), false, l});
}

void FlowEngine::take_up_all(Id id) {
  for (const FlowLink& over : flows_[id].path) take_up(over.link);
}

void FlowEngine::fill_flow(Id id, double rate, std::uint32_t bottleneck) {
  Moving& m = flows_[id];
  m.filled = round_;
  m.next_rate = rate, m.next_bottleneck = bottleneck;
  for (const FlowLink& over : m.path) {
    Link& link = links_[over.link];
    if (link.filling != round_) continue;
    link.left -= over.flows * rate, link.weight -= over.flows * m.weight;
    --link.open;
  }
  if (rate != m.rate) take_up_all(id);
}

void FlowEngine::fill_link(std::uint32_t l, double level) {
  Link& link = links_[l];
  if (std::abs(level - link.level) > kOneLevel * level) link.level = level;
  for (const Passing& p : link.passing) {
    const Moving& m = flows_[p.flow];
    if (!m.ended && m.filled != round_) fill_flow(p.flow, link.level * m.weight, l);
  }
}

// A flow comes to the level at which it was settled before. It stays there, unless the link for
// which it waited now has more.
void FlowEngine::pass_settled(Id id) {
  Moving& m = flows_[id];
  if (m.ended) return take_up_all(id);
  if (m.filled == round_) return;
  if (m.bottleneck == kNone) return fill_flow(id, m.most, kNone);
  const Link& link = links_[m.bottleneck];
  if (link.filling != round_) return fill_flow(id, m.rate, m.bottleneck);
  if (level_of(link) <= link.level * (1 + kOneLevel)) return fill_link(m.bottleneck, link.level);
  if (std::isfinite(m.most)) levels_.push({m.most / m.weight, true, id, id});
  take_up_all(id);
}

// All rates rise together, each by its weight, until a link is full or a source has no more; what
// waits for that is settled, and the rest rises on. Links that are not taken up keep what they had.
void FlowEngine::fill() {
  ++round_;
  touched_.clear();
  reached_ = {-1, false, 0};
  for (const Id id : started_) {
    touch(id);
    const Moving& m = flows_[id];
    if (std::isfinite(m.most)) levels_.push({m.most / m.weight, true, id, id});
    take_up_all(id);
  }
  // A flow that ends comes before all that was settled at its level, which may rise now.
  for (const Id id : ended_) {
    FillLevel left = settled_at(id);
    left.at *= 1 - kAmongLevels;
    levels_.push(left);
  }
  while (!levels_.empty()) {
    const FillLevel level = levels_.top();
    levels_.pop();
    reached_ = level;
    if (level.source && flows_[level.flow].bottleneck != kNone) {  // it has left that link
      if (flows_[level.flow].filled != round_)
        fill_flow(level.flow, flows_[level.flow].most, kNone);
      continue;
    }
    if (level.flow != kNone) {
      pass_settled(level.flow);
      continue;
    }
    const Link& link = links_[level.id];
    if (link.open == 0) continue;
    // While others are settled below it a link's level only rises, so that an older one is a bound.
    if (const double now = level_of(link); now > level.at * (1 + kOneLevel))
      levels_.push({now, false, level.id});
    else
      fill_link(level.id, level.at);
  }
  rates_found_ += touched_.size();
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
