// A Site is where a cluster stands, as far as energy and carbon depend on it: whose electricity it
// takes, and what the building takes beside the devices.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// A Region is a country, or the world, with the carbon intensity of the electricity generated
/// there as the mean of one year. Hours and power stations differ from it widely.
struct Region {
  std::string_view name;     // "united-states"
  std::string_view title;    // "the United States"
  double grams_per_kwh = 0;  // of CO2 equivalents, over the life cycle
  int year = 0;
  std::string_view source;
};
/// All regions, by name.
std::span<const Region> regions();
/// Throws Error{InvalidInput} with the nearest name.
const Region& region(std::string_view name);

struct Site {
  std::string region = {};  // the name of a region; empty = not stated
  double overhead = 1;  // power usage effectiveness (PUE): energy of the whole centre over that of
                        // what computes in it; 1 to kMostOverhead
  friend bool operator==(const Site&, const Site&) = default;
};
inline constexpr double kMostOverhead = 10;

/// Returns "41 g of CO2 equivalents per kWh in Sweden (2023, ...); PUE 1.1". The site must have a
/// region.
std::string site_sentence(const Site&);

}  // namespace trainyard
