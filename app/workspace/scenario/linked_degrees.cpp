#include "app/workspace/scenario/linked_degrees.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace trainyard {
namespace {

struct Degree {
  const char* key;
  std::int64_t value;
};

std::string said(const Degree& degree) {
  return std::string(degree.key) + "=" + std::to_string(degree.value);
}

[[noreturn]] void refuse_setting(std::string_view key, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, Place{"--set " + std::string(key)});
}

}  // namespace

std::vector<std::string> linked_degrees(const Plan& plan, std::int64_t devices,
                                        std::string_view key, std::int64_t value) {
  const Mesh& mesh = plan.mesh;
  // Listed in the order in which they balance a change of dp.
  std::array<Degree, 4> degrees = {Degree{"pp", mesh.pp}, Degree{"tp", mesh.tp},
                                   Degree{"cp", mesh.cp}, Degree{"dp", mesh.dp.value_or(1)}};
  const auto wanted = std::find_if(degrees.begin(), degrees.end(),
                                   [&](const Degree& degree) { return degree.key == key; });
  if (wanted == degrees.end())
    refuse_setting(key,
                   "expected tp, cp, pp or dp, found \"" + std::string(key.substr(0, 60)) + "\"");
  if (value < 1 || value > devices)
    refuse_setting(key, "expected a degree from 1 to " + std::to_string(devices) +
                            ", the devices, found " + std::to_string(value));
  wanted->value = value;
  std::int64_t product = 1;
  for (const Degree& degree : degrees)
    if (degree.key != std::string_view("dp")) product *= degree.value;
  Degree& dp = degrees.back();
  if (key != "dp") {
    if (product > devices || devices % product != 0)
      refuse_setting(key, "expected degrees whose product divides the " + std::to_string(devices) +
                              " devices, found tp x cp x pp = " + std::to_string(product));
    dp.value = devices / product;
    return {said(*wanted), said(dp)};
  }
  if (devices % value != 0)
    refuse_setting(key, "expected a degree that divides the " + std::to_string(devices) +
                            " devices, found " + std::to_string(value));
  const std::int64_t rest = devices / value;  // the product that the other three must have
  for (std::size_t i = 0; i + 1 < degrees.size(); ++i) {
    const std::int64_t others = product / degrees[i].value;
    if (rest % others != 0) continue;
    degrees[i].value = rest / others;
    return {said(degrees[i]), said(dp)};
  }
  refuse_setting(key, "expected a degree that pp, tp or cp can make up for, found " +
                          std::to_string(value) + " for " + std::to_string(devices) + " devices");
}

}  // namespace trainyard
