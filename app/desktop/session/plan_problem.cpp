#include "app/desktop/session/plan_problem.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "app/desktop/session/plan_words.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

std::string key_of(const std::string& assignment) {
  const std::string written = assignment.substr(0, assignment.find('='));
  const Setting* setting = find_setting(written);
  return setting == nullptr ? written : std::string(setting->key);
}

std::string value_of(const std::string& assignment) {
  const std::size_t at = assignment.find('=');
  return at == std::string::npos ? "" : assignment.substr(at + 1);
}

bool among(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// The scenario of the request without its own settings of these keys; empty if it cannot be opened
// even so.
std::optional<Scenario> opened_without(const Request& request,
                                       const std::vector<std::string>& keys) {
  Request rest = request;
  std::erase_if(rest.settings, [&](const std::string& s) { return among(keys, key_of(s)); });
  try {
    return open(rest);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool legal(Scenario scenario, const std::string& assignments) {
  try {
    apply_words(scenario.plan, assignments);
    if (has_errors(check(scenario))) return false;
    complete(scenario);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The legal value of one setting that is nearest to the wanted number by ratio: a power of two or
// one that divides the devices.
std::string nearest_legal(const Scenario& scenario, const std::string& key, std::int64_t wanted) {
  std::vector<std::int64_t> values;
  for (std::int64_t n = 1; n <= (std::int64_t{1} << 24); n *= 2) values.push_back(n);
  for (std::int64_t n = 1; n <= std::min<std::int64_t>(scenario.cluster.count, 1024); ++n)
    if (scenario.cluster.count % n == 0) values.push_back(n);
  const double of = std::log2(static_cast<double>(std::max<std::int64_t>(1, wanted)));
  std::stable_sort(values.begin(), values.end(), [&](std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(a)) - of) <
           std::abs(std::log2(static_cast<double>(b)) - of);
  });
  for (const std::int64_t value : values) {
    const std::string words = key + "=" + std::to_string(value);
    if (value != wanted && legal(scenario, words)) return words;
  }
  return "";
}

}  // namespace

PlanProblem problem_of(const Error& error, const Diagnostics& diagnostics, const Request& request) {
  const auto first = std::find_if(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Diagnostic::Severity::Error;
  });
  const bool found = first != diagnostics.end();
  PlanProblem problem;
  const std::string place = found ? first->place.text : error.place().text;
  problem.sentence = fault_sentence(place, found ? first->message : error.what());
  problem.keys = settings_at(place);
  for (const std::string& assignment : request.settings)
    if (among(problem.keys, key_of(assignment)))
      problem.wanted.push_back(key_of(assignment) + "=" + value_of(assignment));
  if (found && first->fix.find('=') != std::string::npos) {
    const auto scenario = opened_without(request, {key_of(first->fix)});
    if (scenario && legal(*scenario, first->fix)) problem.fixes.push_back(first->fix);
  }
  for (const std::string& wanted : problem.wanted) {
    const std::string value = value_of(wanted);
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc() || end != value.data() + value.size()) continue;
    const auto scenario = opened_without(request, {key_of(wanted)});
    const std::string words =
        scenario ? nearest_legal(*scenario, key_of(wanted), number) : std::string();
    if (!words.empty() && !among(problem.fixes, words)) problem.fixes.push_back(words);
  }
  return problem;
}

PlanProblem narrowed(PlanProblem problem, const Plan& ran) {
  std::vector<std::string> keys;
  std::string former;
  for (const std::string& wanted : problem.wanted) {
    const std::string before = setting(ran, key_of(wanted));
    if (before.empty() || before == value_of(wanted)) continue;
    keys.push_back(key_of(wanted));
    former += (former.empty() ? "" : " ") + key_of(wanted) + "=" + before;
  }
  if (keys.empty()) return problem;
  problem.keys = std::move(keys);
  std::erase_if(problem.fixes,
                [&](const std::string& fix) { return !among(problem.keys, key_of(fix)); });
  if (!among(problem.fixes, former)) problem.fixes.push_back(former);
  return problem;
}

}  // namespace trainyard
