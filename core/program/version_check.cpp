#include "core/program/version_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace trainyard {
namespace {

bool makes_gradients(Phase phase) {
  return phase == Phase::Backward || phase == Phase::BackwardWeight;
}

}  // namespace

VersionCheck::VersionCheck(const ActionIndex& index) : index_(index) {
  const std::vector<Action>& actions = index.actions();
  std::uint32_t stages = 0;
  for (const Action& a : actions) stages = std::max(stages, a.stage.value + 1);
  private_.resize(stages);
  std::vector<std::tuple<std::uint32_t, std::int16_t, std::int16_t>> versions;  // and wave
  for (const Action& a : actions)
    if (a.phase == Phase::Update) versions.push_back({a.stage.value, a.weights, a.wave});
  std::sort(versions.begin(), versions.end());
  for (std::size_t i = 1; i < versions.size(); ++i) {
    const auto [stage, version, wave] = versions[i];
    const auto [stage_before, version_before, wave_before] = versions[i - 1];
    if (stage == stage_before && version == version_before && wave != wave_before)
      private_[stage] = true;
  }
  for (std::uint32_t i = 0; i < actions.size(); ++i)
    if (const Action& a = actions[i]; a.phase == Phase::Update)
      written_.push_back(
          {a.stage.value, private_[a.stage.value] ? a.wave : std::int16_t{0}, a.weights, i});
  std::sort(written_.begin(), written_.end());

  line_.resize(actions.size());
  following_.assign(actions.size(), kNothing);
  std::vector<std::uint32_t> next(stages, kNothing);
  for (std::uint32_t l = 0; l < index.lines().size(); ++l) {
    const Line& line = index.lines()[l];
    for (std::uint32_t i = line.first + line.count; i-- > line.first;) {
      const Action& a = actions[i];
      line_[i] = l;
      following_[i] = next[a.stage.value];
      if (a.phase == Phase::Update) next[a.stage.value] = i;
    }
    for (std::uint32_t i = line.first; i < line.first + line.count; ++i)
      next[actions[i].stage.value] = kNothing;
  }
}

bool VersionCheck::is_private(std::uint32_t stage) const { return private_[stage]; }

std::uint32_t VersionCheck::writer(const Action& a, int version) const {
  const std::uint32_t stage = a.stage.value;
  const Written wanted{stage, is_private(stage) ? a.wave : std::int16_t{0},
                       static_cast<std::int16_t>(version), 0};
  const auto at = std::lower_bound(written_.begin(), written_.end(), wanted);
  const bool found = at != written_.end() && at->stage == wanted.stage && at->wave == wanted.wave &&
                     at->version == wanted.version;
  return found ? at->action : kNothing;
}

std::string VersionCheck::problem_of_update(const Written& w) const {
  const Action& a = index_.actions()[w.action];
  const std::string name = to_text(a);
  if (a.weights < 1) return fmt::format("{} writes version 0, which is there at the start", name);
  if (const std::uint32_t same = writer(a, a.weights); same != w.action)
    return fmt::format("{} writes the version that {} has written", name,
                       to_text(index_.actions()[same]));
  if (a.weights > 1) {
    const std::uint32_t older = writer(a, a.weights - 1);
    if (older == kNothing)
      return fmt::format("{} skips version {}, which no update writes", name, a.weights - 1);
    if (older > w.action && line_[older] == line_[w.action])
      return fmt::format("{} comes before {}, which writes the version before it", name,
                         to_text(index_.actions()[older]));
  }
  return {};
}

std::string VersionCheck::problem_of_read(std::uint32_t action) const {
  const Action& a = index_.actions()[action];
  const std::string name = to_text(a);
  if (a.weights != 0) {
    const std::uint32_t from = a.weights > 0 ? writer(a, a.weights) : kNothing;
    if (from == kNothing)
      return fmt::format("{} reads version {} of the weights, which no update writes", name,
                         a.weights);
    if (from > action && line_[from] == line_[action])
      return fmt::format("{} comes before {}, which writes the weights it reads", name,
                         to_text(index_.actions()[from]));
  }
  if (a.phase != Phase::Forward) {
    const std::uint32_t forward = index_.find(Phase::Forward, a.stage.value, a.microbatch);
    if (forward != kNothing && index_.actions()[forward].weights > a.weights)
      return fmt::format("{} reads older weights than its forward {}", name,
                         to_text(index_.actions()[forward]));
  }
  if (makes_gradients(a.phase) && !written_.empty() && following_[action] == kNothing)
    return fmt::format("no update of stage {} comes after {} in its lane, so its gradient is lost",
                       a.stage.value, name);
  return {};
}

std::vector<VersionProblem> VersionCheck::problems() const {
  std::vector<VersionProblem> found;
  const auto add = [&](std::uint32_t action, std::string sentence) {
    if (!sentence.empty()) found.push_back({action, std::move(sentence)});
  };
  for (const Written& w : written_) add(w.action, problem_of_update(w));
  for (std::uint32_t i = 0; i < index_.actions().size(); ++i)
    if (index_.actions()[i].phase != Phase::Update) add(i, problem_of_read(i));
  return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> VersionCheck::waits() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (std::uint32_t i = 0; i < index_.actions().size(); ++i) {
    const Action& a = index_.actions()[i];
    const std::uint32_t from = writer(a, a.phase == Phase::Update ? a.weights - 1 : a.weights);
    if (from != kNothing && line_[from] != line_[i]) found.push_back({i, from});
  }
  return found;
}

}  // namespace trainyard
