#include "core/cluster/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr std::string_view kByCountry =
    "Our World in Data, carbon intensity of electricity generation, from Ember and Energy "
    "Institute";
constexpr std::string_view kOfWorld = "Ember, Global Electricity Review 2024";

constexpr Region kRegions[] = {
    {"australia", "Australia", 548.7, 2023, kByCountry},
    {"austria", "Austria", 110.8, 2023, kByCountry},
    {"belgium", "Belgium", 138.1, 2023, kByCountry},
    {"brazil", "Brazil", 98.3, 2023, kByCountry},
    {"canada", "Canada", 170, 2023, kByCountry},
    {"chile", "Chile", 291.1, 2023, kByCountry},
    {"china", "China", 582.3, 2023, kByCountry},
    {"czechia", "Czechia", 449.7, 2023, kByCountry},
    {"denmark", "Denmark", 151.7, 2023, kByCountry},
    {"finland", "Finland", 79.2, 2023, kByCountry},
    {"france", "France", 56, 2023, kByCountry},
    {"germany", "Germany", 380.9, 2023, kByCountry},
    {"greece", "Greece", 336.6, 2023, kByCountry},
    {"hong-kong", "Hong Kong", 699.5, 2022, kByCountry},
    {"iceland", "Iceland", 27.7, 2022, kByCountry},
    {"india", "India", 713.4, 2023, kByCountry},
    {"indonesia", "Indonesia", 675.9, 2022, kByCountry},
    {"ireland", "Ireland", 290.8, 2023, kByCountry},
    {"israel", "Israel", 582.9, 2022, kByCountry},
    {"italy", "Italy", 330.7, 2023, kByCountry},
    {"japan", "Japan", 485.4, 2023, kByCountry},
    {"malaysia", "Malaysia", 605.8, 2022, kByCountry},
    {"mexico", "Mexico", 507.2, 2023, kByCountry},
    {"netherlands", "the Netherlands", 267.6, 2023, kByCountry},
    {"new-zealand", "New Zealand", 112.8, 2023, kByCountry},
    {"norway", "Norway", 30.1, 2023, kByCountry},
    {"poland", "Poland", 661.9, 2023, kByCountry},
    {"portugal", "Portugal", 165.6, 2023, kByCountry},
    {"qatar", "Qatar", 602.5, 2023, kByCountry},
    {"saudi-arabia", "Saudi Arabia", 706.8, 2022, kByCountry},
    {"singapore", "Singapore", 470.8, 2023, kByCountry},
    {"south-africa", "South Africa", 707.7, 2023, kByCountry},
    {"south-korea", "South Korea", 430.6, 2023, kByCountry},
    {"spain", "Spain", 174.1, 2023, kByCountry},
    {"sweden", "Sweden", 40.7, 2023, kByCountry},
    {"switzerland", "Switzerland", 34.8, 2023, kByCountry},
    {"taiwan", "Taiwan", 642.4, 2023, kByCountry},
    {"thailand", "Thailand", 549.6, 2023, kByCountry},
    {"united-arab-emirates", "the United Arab Emirates", 561.1, 2022, kByCountry},
    {"united-kingdom", "the United Kingdom", 237.6, 2023, kByCountry},
    {"united-states", "the United States", 369.5, 2023, kByCountry},
    {"vietnam", "Vietnam", 475.4, 2023, kByCountry},
    {"world", "the world", 481, 2023, kOfWorld},
};

}  // namespace

std::span<const Region> regions() { return kRegions; }

const Region& region(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Region& one : kRegions) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  refuse(fmt::format("expected a region whose electricity is known, found \"{}\"{}",
                     name.substr(0, 60), did_you_mean(name, names)));
}

std::string site_sentence(const Site& site) {
  const Region& where = region(site.region);
  return fmt::format("{:.3g} g of CO2 equivalents per kWh in {} ({}, {}); {}", where.grams_per_kwh,
                     where.title, where.year, where.source,
                     site.overhead > 1 ? fmt::format("PUE {:.3g}", site.overhead)
                                       : "the building's overhead (PUE) is not counted");
}

}  // namespace trainyard
