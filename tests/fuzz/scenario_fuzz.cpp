// Lines "model: NAME", "cluster: WORDS" and "set: KEY=VALUE": whatever check() lets pass can be
// estimated and simulated; the rest is refused with InvalidInput.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/workspace/scenario/workspace.h"
#include "core/cluster/cluster.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace {

using namespace trainyard;

Scenario read(std::string_view text) {
  Scenario scenario;
  scenario.model = zoo_model("gpt-tiny");
  scenario.cluster = parse_cluster("cpu-small:4");
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("model: ")) scenario.model = zoo_model(line.substr(7));
    if (line.starts_with("cluster: ")) scenario.cluster = parse_cluster(line.substr(9));
    if (line.starts_with("set: ")) apply_setting(scenario.plan, line.substr(5));
  }
  return scenario;
}

// Slow cases are not findings: a million microbatches take time but do not hang.
bool quick(const Scenario& complete) {
  const Plan& plan = complete.plan;
  return std::int64_t{plan.mesh.pp} * plan.virtual_stages * microbatches(plan) <= 256 &&
         layer_count(complete.model) <= 32;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    Scenario scenario = read({reinterpret_cast<const char*>(data), size});
    throw_if_errors(check(scenario));
    scenario.plan = complete(scenario);
    if (!quick(scenario)) return 0;
    estimate(scenario);
    simulate(scenario);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
